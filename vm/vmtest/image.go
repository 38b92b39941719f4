package vmtest

import "encoding/binary"

// BzImage makes what looks like a 64-bit bzImage: boot sector, header, one setup sector
// with the version string, such as "6.1.0 (me@here) #1", and so many 16-byte
// paragraphs of nothing.
func BzImage(version string, paragraphs uint32) []byte {
	image := make([]byte, 2*512+int(paragraphs)*16)
	image[0x1f1] = 1
	binary.LittleEndian.PutUint32(image[0x1f4:], paragraphs)
	binary.LittleEndian.PutUint16(image[0x1fe:], 0xaa55)
	copy(image[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(image[0x206:], 0x20f)
	image[0x236] = 1
	if version != "" {
		binary.LittleEndian.PutUint16(image[0x20e:], 0x300-0x200)
		copy(image[0x300:], version+"\x00")
	}
	return image
}
