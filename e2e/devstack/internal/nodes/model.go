package nodes

import (
	"regexp"
	"strings"
)

// Model is one kind of accelerator.
type Model struct {
	// Name is what NVML reports.
	Name         string
	Family       string
	Major, Minor int // compute capability
	MemoryMiB    int
	// Watts at rest and at full load, and clocks in MHz: plausible values for readings, not limits to rely on.
	IdleWatts, MaxWatts float64
	SMClock, MemClock   int
	NVLink              bool
	Profiles            []Profile // nil: no MIG
}

// Profile is a MIG profile of a model; a GPU has eight memory slices, on which the instances lie.
type Profile struct {
	Name         string
	ID           int // as nvidia-smi mig -lgip prints it
	Slices, Size int // compute slices; memory slices
	Starts       []int
	Max          int // at most so many on one GPU
	MemoryMiB    int
	SMs          int
	Copy, Dec    int // engines
	JPEG, OFA    int
}

// Profile finds a profile of the model by its name.
func (m *Model) Profile(name string) (Profile, bool) {
	for _, p := range m.Profiles {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}

var unwanted = regexp.MustCompile(`[^A-Za-z0-9\-_. ]`)

// Product is the name as GPU feature discovery writes it into labels.
func (m *Model) Product() string {
	return strings.Join(strings.Fields(unwanted.ReplaceAllString(m.Name, "")), "-")
}

var (
	anywhere = []int{0, 1, 2, 3, 4, 5, 6}
	pairs    = []int{0, 2, 4, 6}
	duos     = []int{0, 2, 4}
	halves   = []int{0, 4}
	whole    = []int{0}
)

// H100 is the 80 GB SXM5 card.
var H100 = &Model{
	Name: "NVIDIA H100 80GB HBM3", Family: "hopper", Major: 9, MemoryMiB: 81559,
	IdleWatts: 72, MaxWatts: 690, SMClock: 1980, MemClock: 2619, NVLink: true,
	Profiles: []Profile{
		{Name: "1g.10gb", ID: 19, Slices: 1, Size: 1, Starts: anywhere, Max: 7, MemoryMiB: 9984, SMs: 16, Copy: 1, Dec: 1,
			JPEG: 1},
		{Name: "1g.10gb+me", ID: 20, Slices: 1, Size: 1, Starts: anywhere, Max: 1, MemoryMiB: 9984, SMs: 16, Copy: 1, Dec: 1,
			JPEG: 1, OFA: 1},
		{Name: "1g.20gb", ID: 15, Slices: 1, Size: 2, Starts: pairs, Max: 4, MemoryMiB: 20096, SMs: 26, Copy: 1, Dec: 1,
			JPEG: 1},
		{Name: "2g.20gb", ID: 14, Slices: 2, Size: 2, Starts: duos, Max: 3, MemoryMiB: 20096, SMs: 32, Copy: 2, Dec: 2,
			JPEG: 2},
		{Name: "3g.40gb", ID: 9, Slices: 3, Size: 4, Starts: halves, Max: 2, MemoryMiB: 40320, SMs: 60, Copy: 3, Dec: 3,
			JPEG: 3},
		{Name: "4g.40gb", ID: 5, Slices: 4, Size: 4, Starts: whole, Max: 1, MemoryMiB: 40320, SMs: 64, Copy: 4, Dec: 4,
			JPEG: 4},
		{Name: "7g.80gb", ID: 0, Slices: 7, Size: 8, Starts: whole, Max: 1, MemoryMiB: 81152, SMs: 132, Copy: 8, Dec: 7,
			JPEG: 7, OFA: 1},
	},
}

// A100 is the 40 GB SXM4 card.
var A100 = &Model{
	Name: "NVIDIA A100-SXM4-40GB", Family: "ampere", Major: 8, MemoryMiB: 40960,
	IdleWatts: 55, MaxWatts: 395, SMClock: 1410, MemClock: 1215, NVLink: true,
	Profiles: []Profile{
		{Name: "1g.5gb", ID: 19, Slices: 1, Size: 1, Starts: anywhere, Max: 7, MemoryMiB: 4864, SMs: 14, Copy: 1},
		{Name: "1g.5gb+me", ID: 20, Slices: 1, Size: 1, Starts: anywhere, Max: 1, MemoryMiB: 4864, SMs: 14, Copy: 1, Dec: 1,
			JPEG: 1, OFA: 1},
		{Name: "1g.10gb", ID: 15, Slices: 1, Size: 2, Starts: pairs, Max: 4, MemoryMiB: 9856, SMs: 14, Copy: 1, Dec: 1},
		{Name: "2g.10gb", ID: 14, Slices: 2, Size: 2, Starts: duos, Max: 3, MemoryMiB: 9856, SMs: 28, Copy: 2, Dec: 1},
		{Name: "3g.20gb", ID: 9, Slices: 3, Size: 4, Starts: halves, Max: 2, MemoryMiB: 19968, SMs: 42, Copy: 3, Dec: 2},
		{Name: "4g.20gb", ID: 5, Slices: 4, Size: 4, Starts: whole, Max: 1, MemoryMiB: 19968, SMs: 56, Copy: 4, Dec: 2},
		{Name: "7g.40gb", ID: 0, Slices: 7, Size: 8, Starts: whole, Max: 1, MemoryMiB: 40192, SMs: 98, Copy: 7, Dec: 5,
			JPEG: 1, OFA: 1},
	},
}

// H200 is the 141 GB card; the memory of 7g.141gb is a guess.
var H200 = &Model{
	Name: "NVIDIA H200", Family: "hopper", Major: 9, MemoryMiB: 143771,
	IdleWatts: 76, MaxWatts: 690, SMClock: 1980, MemClock: 3201, NVLink: true,
	Profiles: []Profile{
		{Name: "1g.18gb", ID: 19, Slices: 1, Size: 1, Starts: anywhere, Max: 7, MemoryMiB: 16384, SMs: 16, Copy: 1, Dec: 1,
			JPEG: 1},
		{Name: "1g.18gb+me", ID: 20, Slices: 1, Size: 1, Starts: anywhere, Max: 1, MemoryMiB: 16384, SMs: 16, Copy: 1, Dec: 1,
			JPEG: 1, OFA: 1},
		{Name: "1g.35gb", ID: 15, Slices: 1, Size: 2, Starts: pairs, Max: 4, MemoryMiB: 33024, SMs: 26, Copy: 1, Dec: 1,
			JPEG: 1},
		{Name: "2g.35gb", ID: 14, Slices: 2, Size: 2, Starts: duos, Max: 3, MemoryMiB: 33024, SMs: 32, Copy: 2, Dec: 2,
			JPEG: 2},
		{Name: "3g.71gb", ID: 9, Slices: 3, Size: 4, Starts: halves, Max: 2, MemoryMiB: 71168, SMs: 60, Copy: 3, Dec: 3,
			JPEG: 3},
		{Name: "4g.71gb", ID: 5, Slices: 4, Size: 4, Starts: whole, Max: 1, MemoryMiB: 71168, SMs: 64, Copy: 4, Dec: 4,
			JPEG: 4},
		{Name: "7g.141gb", ID: 0, Slices: 7, Size: 8, Starts: whole, Max: 1, MemoryMiB: 143000, SMs: 132, Copy: 8, Dec: 7,
			JPEG: 7, OFA: 1},
	},
}

// Cards without MIG.
var (
	L40S = &Model{Name: "NVIDIA L40S", Family: "ada-lovelace", Major: 8, Minor: 9, MemoryMiB: 46068, IdleWatts: 34,
		MaxWatts: 345, SMClock: 2520, MemClock: 9001}
	L4 = &Model{Name: "NVIDIA L4", Family: "ada-lovelace", Major: 8, Minor: 9, MemoryMiB: 23034, IdleWatts: 16,
		MaxWatts: 71, SMClock: 2040, MemClock: 6251}
	A10 = &Model{Name: "NVIDIA A10", Family: "ampere", Major: 8, Minor: 6, MemoryMiB: 23028, IdleWatts: 22, MaxWatts: 148,
		SMClock: 1695, MemClock: 6251}
	T4 = &Model{Name: "Tesla T4", Family: "turing", Major: 7, Minor: 5, MemoryMiB: 15360, IdleWatts: 10, MaxWatts: 69,
		SMClock: 1590, MemClock: 5000}
	V100 = &Model{Name: "Tesla V100-SXM2-32GB", Family: "volta", Major: 7, MemoryMiB: 32768, IdleWatts: 42, MaxWatts: 298,
		SMClock: 1530, MemClock: 877, NVLink: true}
)

// What a virtual machine sees of a vGPU: the name of its type and its frame buffer.
var (
	A40Q  = &Model{Name: "NVIDIA A40-12Q", Family: "ampere", Major: 8, Minor: 6, MemoryMiB: 12288}
	H100C = &Model{Name: "NVIDIA H100XM-1-10C", Family: "hopper", Major: 9, MemoryMiB: 10240}
)
