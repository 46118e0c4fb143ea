package license

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestALossIsToldOnceANode(t *testing.T) {
	at := func(s State, since, seen time.Duration) Device {
		return Device{Cluster: "main", Node: "vm-1", UUID: "a", State: s, Since: noon.Add(since), SeenAt: noon.Add(seen)}
	}
	other := func(d Device, uuid string) Device { d.UUID = uuid; return d }
	there := []Loss{{Cluster: "main", Node: "vm-1", Count: 1, Since: noon}}
	for sentence, c := range map[string]struct {
		before, after []Device
		want          []Loss
	}{
		"a license that is there is no loss":           {nil, []Device{at(Licensed, 0, time.Hour)}, nil},
		"a machine that has just booted is given time": {nil, []Device{at(Unlicensed, 0, 19*time.Second)}, nil},
		"lost for good": {[]Device{at(Unlicensed, 0, 0)},
			[]Device{at(Unlicensed, 0, time.Minute)}, there},
		"lost before, and still": {[]Device{at(Unlicensed, 0, time.Minute)},
			[]Device{at(Unlicensed, 0, 2*time.Minute)}, nil},
		"restricted later is the same loss": {[]Device{at(Unrestricted, 0, time.Minute)},
			[]Device{at(Restricted, 0, 20*time.Minute)}, nil},
		"a second card of the same node is no second loss": {[]Device{at(Unlicensed, 0, time.Minute)},
			[]Device{at(Unlicensed, 0, time.Hour), other(at(Unlicensed, 0, time.Hour), "b")}, nil},
		"nobody could ask for an hour, and it is as it was": {[]Device{at(Unlicensed, 0, time.Minute)},
			[]Device{at(Unlicensed, 0, time.Hour)}, nil},
		"back, and lost again": {[]Device{at(Licensed, -time.Hour, 0)}, []Device{at(Unlicensed, 0, time.Minute)}, there},
		"unknown is not lost":  {nil, []Device{at(StateUnknown, 0, time.Hour)}, nil},
		"two cards at once are one loss": {nil, []Device{at(Unlicensed, 0, time.Hour),
			other(at(Restricted, time.Minute, time.Hour), "b")},
			[]Loss{{Cluster: "main", Node: "vm-1", Count: 2, Since: noon}}},
	} {
		if diff := cmp.Diff(c.want, Losses(c.before, c.after)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
	}
}
