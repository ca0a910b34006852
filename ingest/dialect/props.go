package dialect

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/weir-analytics/weir/ingest/jsonscan"
	"github.com/weir-analytics/weir/ingest/pageurl"
)

// maxFlat bounds how deep objects are flattened into properties.
const maxFlat = 6

// withProp adds one property within the limits; what is too long is cut away as a whole.
func withProp(props map[string]string, key, value string) map[string]string {
	key, value = pageurl.Printable(key), pageurl.Printable(value)
	if key == "" || len(key) > maxPropKey || len(value) > maxPropValue || strings.TrimSpace(value) == "" || len(props) >= maxProps {
		return props
	}
	if props == nil {
		props = make(map[string]string, 4)
	}
	props[key] = value
	return props
}

// Props are properties within the limits; what is too long is cut away as a whole.
func Props(all map[string]string) (props map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		props = withProp(props, key, all[key])
	}
	return props
}

// flatten adds the members of an object as properties, those of objects within it under "outer.inner". Lists become their JSON text.
func flatten(props map[string]string, prefix string, object jsonscan.Value, depth int) map[string]string {
	_, _ = jsonscan.Object(object.Raw, func(key []byte, v jsonscan.Value) error {
		name := prefix + string(key)
		switch v.Kind {
		case jsonscan.KindNull:
		case jsonscan.KindObject:
			if depth < maxFlat {
				props = flatten(props, name+".", v, depth+1)
			}
		default:
			props = withProp(props, name, v.Text())
		}
		return nil
	})
	return props
}

// sortedNames returns the names of parameters in an order that does not change.
func sortedNames(q url.Values) []string { return slices.Sorted(maps.Keys(q)) }
