package gpumetrics

import (
	"math"
	"strings"
	"testing"
	"time"
)

// FuzzAnswer feeds anything as both answers: nothing may panic, and a value that is called known is one that can be.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"DCGM_FI_DEV_FB_USED","UUID":"GPU-1","namespace":"a","pod":"b"},"value":[1763715620.1,"12"]}]}}`,
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"UUID":"GPU-1","pod":"b","namespace":"a"},"values":[[1763715600,"NaN"],[1763715660,"5"]]}]}}`,
		`{"status":"error","errorType":"bad_data","error":"x"}`, `null`, `{}`, `[`, `{"status":"success","data":null}`,
		`{"status":"success","data":{"result":[{"metric":null,"value":[1e300,"9223372036854775794"]},{"value":["x",5]},{}]}}`,
		`{"status":"success","data":{"result":[{"metric":{"__name__":"DCGM_FI_DEV_FB_USED","UUID":"G"},"value":[1763715620,"+Inf"]}]}}`,
	} {
		f.Add(s)
	}
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		var rows []series
		if err := decode(strings.NewReader(text), 1<<16, func(s series) { rows = append(rows, s) }); err != nil {
			return
		}
		means(rows)
		for _, devices := range arrange(rows, rows, now, time.Minute).pods {
			for _, d := range devices {
				for _, r := range d.readings() {
					if r.Known && (math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || math.Abs(r.Value) > 4<<30) || !r.Known && r.Value != 0 {
						t.Errorf("%+v cannot be", *r)
					}
				}
			}
		}
	})
}
