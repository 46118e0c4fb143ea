package nodes

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// uuidOf makes the same UUID from the same words: a GPU keeps its UUID over restarts and new worlds.
func uuidOf(words ...any) string {
	s := sha256.Sum256(fmt.Append(nil, words...))
	s[6], s[8] = s[6]&0x0f|0x40, s[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", s[0:4], s[4:6], s[6:8], s[8:10], s[10:16])
}

// GPUUUID is the UUID of a physical GPU (or, on a virtual machine, of its vGPU).
func GPUUUID(node string, gpu int) string { return "GPU-" + uuidOf("gpu", node, gpu) }

// MIGUUID is the UUID of a MIG instance.
func MIGUUID(node string, gpu int, in Instance) string {
	return "MIG-" + uuidOf("mig", node, gpu, in.Profile, in.Start)
}

// BusID is the PCI address of a GPU as DCGM prints it; eight cards lie as on a DGX H100.
func BusID(gpu int) string {
	buses := []string{"1B", "43", "52", "61", "9D", "C3", "D1", "DF"}
	return "00000000:" + buses[gpu%len(buses)] + ":00.0"
}

// resourceOf is the name of a MIG profile within resource names and labels: + becomes a dot.
func resourceOf(profile string) string {
	return "mig-" + strings.ReplaceAll(profile, "+", ".")
}

// hamiRegister is what HAMi's device plugin writes on its nodes: the cards and how often each may be shared.
func hamiRegister(node string, m *Model, gpus int) string {
	var cards []string
	for i := range gpus {
		cards = append(cards, fmt.Sprintf(
			`{"id":%q,"count":10,"devmem":%d,"devcore":100,"type":%q,"numa":%d,"mode":"hami-core","health":true,"index":%d}`,
			GPUUUID(node, i), m.MemoryMiB, "NVIDIA-"+m.Name, i/2, i))
	}
	return "[" + strings.Join(cards, ",") + "]"
}
