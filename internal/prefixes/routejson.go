package prefixes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A jsonRoute is what matters of a route in the output of ip -j route.
type jsonRoute struct {
	Type       string          `json:"type"`
	Dst        *string         `json:"dst"`
	Gateway    string          `json:"gateway"`
	Preference json.RawMessage `json:"pref"`
}

// readJSON reads arrays of routes, one after the other.
func (c *collector) readJSON(r io.Reader) error {
	budget := &limitedReader{r, maxRecord, fmt.Errorf("a route is longer than %d bytes", maxRecord)}
	d := json.NewDecoder(budget)
	for {
		token, err := d.Token()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return jsonError(d, err)
		case token != json.Delim('['):
			return offsetError(d.InputOffset(), errors.New("an array of routes was expected, as ip -j route prints"))
		}
		if err := c.readRoutes(d, budget); err != nil {
			return err
		}
	}
}

func (c *collector) readRoutes(d *json.Decoder, budget *limitedReader) error {
	for d.More() {
		budget.left = maxRecord
		at := d.InputOffset()
		var route jsonRoute
		if err := d.Decode(&route); err != nil {
			return jsonError(d, err)
		}
		if err := c.addJSON(route); err != nil {
			return offsetError(at, err)
		}
	}
	_, err := d.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return jsonError(d, err)
	}
	return nil
}

func (c *collector) addJSON(route jsonRoute) error {
	if route.Dst == nil {
		return errors.New("a route has no dst")
	}
	unicast := true
	if route.Type != "" {
		kind, ok := routeType(route.Type)
		if !ok {
			return fmt.Errorf("%s is no route type", quote(route.Type))
		}
		unicast = kind
	}
	f := IPv4
	if route.Preference != nil || strings.Contains(route.Gateway, ":") {
		f = IPv6
	}
	p, err := parseDestination(*route.Dst, f)
	if err != nil {
		return err
	}
	return c.add(p, unicast)
}

// jsonError adds where the decoder is.
func jsonError(d *json.Decoder, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return offsetError(d.InputOffset(), err)
}
