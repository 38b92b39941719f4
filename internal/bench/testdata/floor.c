/* floor: what programming routes costs at the least, in C.
 *
 *	floor add|delete INTERFACE-INDEX COUNT BATCH
 *
 * sends COUNT encoded requests for the /24s from 20.0.0.0 on, BATCH a call, reads
 * the acknowledgement of each call, and prints the time that both took together:
 * "wall_ns failed".
 */
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

static struct item {
	struct nlmsghdr head;
	struct rtmsg body;
	struct rtattr dst_head;
	uint32_t dst;
	struct rtattr oif_head;
	uint32_t oif;
} *items;

static int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void encode(struct item *it, int add, uint32_t index, int i, int last)
{
	it->head.nlmsg_len = sizeof(*it);
	it->head.nlmsg_type = add ? RTM_NEWROUTE : RTM_DELROUTE;
	it->head.nlmsg_flags = NLM_F_REQUEST | (add ? NLM_F_CREATE | NLM_F_EXCL : 0) | (last ? NLM_F_ACK : 0);
	it->head.nlmsg_seq = i + 1;
	it->body.rtm_family = AF_INET;
	it->body.rtm_dst_len = 24;
	it->body.rtm_table = RT_TABLE_MAIN;
	it->body.rtm_protocol = RTPROT_STATIC;
	it->body.rtm_scope = RT_SCOPE_LINK;
	it->body.rtm_type = RTN_UNICAST;
	it->dst_head = (struct rtattr){ RTA_LENGTH(4), RTA_DST };
	it->dst = htonl((20u << 24) + ((uint32_t)i << 8));
	it->oif_head = (struct rtattr){ RTA_LENGTH(4), RTA_OIF };
	it->oif = index;
}

/* answers reads until the request with sequence number last is answered. */
static int answers(int fd, uint32_t last)
{
	static char buf[1 << 16];
	int failed = 0;

	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		struct nlmsghdr *h = (void *)buf;

		if (n < 0) {
			perror("recv");
			exit(1);
		}
		for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			struct nlmsgerr *e = NLMSG_DATA(h);

			failed += h->nlmsg_type == NLMSG_ERROR && e->error;
			if (h->nlmsg_seq == last)
				return failed;
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	int add = !strcmp(argv[1], "add"), count = atoi(argv[3]), batch = atoi(argv[4]);
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), size = 32 << 20, failed = 0;
	int64_t wall = 0;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	items = calloc(count, sizeof(*items));
	for (int i = 0; i < count; i++)
		encode(&items[i], add, atoi(argv[2]), i, i % batch == batch - 1 || i == count - 1);
	for (int from = 0; from < count; from += batch) {
		int n = count - from < batch ? count - from : batch;
		int64_t start = clock_ns();

		if (send(fd, &items[from], n * sizeof(*items), 0) < 0) {
			perror("send");
			return 1;
		}
		failed += answers(fd, from + n);
		wall += clock_ns() - start;
	}
	printf("%lld %d\n", (long long)wall, failed);
	return failed != 0;
}
