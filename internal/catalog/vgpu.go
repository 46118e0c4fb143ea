package catalog

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Names of vGPU types end in frame buffer and series, with the compute slices before them when they are backed by MIG:
// A40-12Q, H100XM-1-10CME. Source: Virtual GPU Client Licensing User Guide; checked against the 710 types of GPU
// operator v26.7.0.
var (
	timeSlicedVGPU = regexp.MustCompile(`[-_ ][0-9]+[ABCQ](ME|GFX|NOME)?$`)
	migBackedVGPU  = regexp.MustCompile(`[-_ ][1-7]-[0-9]+[ABCQ](ME|GFX|NOME)?$`)
)

// VGPUType reports whether a product, a resource or a driver's name of a card is that of a vGPU type, and whether MIG
// backs that type.
func VGPUType(name string) (is, mig bool) {
	mig = migBackedVGPU.MatchString(name)
	return mig || timeSlicedVGPU.MatchString(name), mig
}

// BoardMemory is the memory in GB of a card by the board in its vGPU types: that of the largest type. It is not known
// for types that two cards with different memory have.
func BoardMemory(board, profile string) (gb float64, known bool) {
	types, known := typesOf(board)
	for _, t := range types {
		if m := vgpuType.FindStringSubmatch(board + "-" + t); m != nil {
			size, _ := strconv.ParseFloat(m[3], 64)
			gb = max(gb, size)
		}
	}
	return gb, known && gb > 0 && !(board == "DC" && sharedTypes(profile))
}

// Types of the board DC that the RTX PRO 4500 (32 GB) has, some of them beside the RTX PRO 6000 (96 GB): vGPU device
// manager of GPU Operator v26.7.0.
var bothRTXPRO = []string{"DC-1-8", "DC-1-16", "DC-2-8", "DC-2-16", "DC-2-32", "DC-8", "DC-16", "DC-32"}

func sharedTypes(profile string) bool {
	return slices.Contains(bothRTXPRO, strings.TrimRight(profile, "ABCQMEGFXNO"))
}
