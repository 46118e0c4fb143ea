package cost

import (
	"github.com/gpu-portal/gpu-portal/internal/usage"
	"github.com/gpu-portal/gpu-portal/internal/web/page"
	usageview "github.com/gpu-portal/gpu-portal/views/usage"
)

// mostSpenders is how many people and workloads are named; the table below has all.
const mostSpenders = 5

// spenders are the people and the workloads that cost the most, in each currency. A statement has in it what its reader
// may see; who reads only their own costs is told of nobody.
func (w *Pages) spenders(k page.Call, c usageChoice, s usage.Statement) (list []usageview.SpendersModel) {
	if c.scope == usage.Mine {
		return nil
	}
	for _, total := range s.Total().Cost {
		m := usageview.SpendersModel{Currency: total.Currency, People: w.spendersBy(k, s, "person", total.Currency),
			Workloads: w.spendersBy(k, s, "workload", total.Currency)}
		if len(m.People) > 0 {
			list = append(list, m)
		}
	}
	return list
}

func (w *Pages) spendersBy(k page.Call, s usage.Statement, by,
	currency string) (rows []usageview.SpenderModel) {
	say := k.Words
	for _, p := range s.Spenders(by, currency, mostSpenders) {
		rows = append(rows, usageview.SpenderModel{Name: w.groupName(say, by, p.Sum, leading(p.Sum.Lines)),
			Cost: say.Money(p.Cost), Share: p.Share, ShareWords: say.Percent(100 * p.Share)})
	}
	return rows
}
