// Package health knows which nodes and cards are not well: what administrators have quarantined, and what DCGM and
// the node agents say of each card.
//
// An administrator quarantines a node or a card with a note (Service.Quarantine) -> the record and the notices of those
// who hold something there are written with it -> the inventory counts it as broken (inventory.Quarantine), pods that
// are made from then on go around it (kube.Avoid), and what runs goes on. Release takes it back. A quarantine stays
// when its node or card is gone: who comes back finds it quarantined.
package health
