// Package hardware knows cards: which can be cut into which MIG slices and where these may lie, which vGPU types a
// board has, and how names of cards, profiles and types are read. All of it is one table with its sources,
// hardware.json, that is embedded; what is not in it is not known, and the callers believe what they are told of it.
//
// CardsOf finds Cards by a name that people or labels give; a Card has Profiles. ParseVGPU reads a vGPU type, TypesOf
// and BoardMemory say what its board has. Nothing here depends on a cluster, a store or the time.
package hardware
