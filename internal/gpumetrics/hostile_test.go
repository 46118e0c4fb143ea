package gpumetrics

import (
	"strings"
	"testing"

	"github.com/gpu-portal/gpu-portal/internal/untrusted/untrustedtest"
)

// TestAnyAnswerIsReadInTime: what calls itself Prometheus is another's, too.
func TestAnyAnswerIsReadInTime(t *testing.T) {
	t.Parallel()
	const most = 8 << 20
	fill := func(head, piece string) string { return head + strings.Repeat(piece, (most-len(head))/len(piece)) }
	row := `{"metric":{"__name__":"DCGM_FI_DEV_FB_USED","UUID":"GPU-1"},"value":[1763715620,"1"]},`
	for name, text := range map[string]string{
		"deep beside the rows": fill(`{"status":"success","warnings":`, `[`),
		"deep in a row":        fill(`{"status":"success","data":{"result":[{"metric":`, `{"a":`),
		"deep rows":            fill(`{"status":"success","data":{"result":`, `[`),
		"rows":                 fill(`{"status":"success","data":{"result":[`, row),
		"labels":               fill(`{"status":"success","data":{"result":[{"metric":{`, `"a":"b",`),
		"slashes":              fill(`{"status":"success","data":{"result":[{"metric":{"a":"`, `\\`),
		"quotes":               fill(`{"status":"success","data":{"result":[{"metric":{"a":"`, `\"`),
		"values":               fill(`{"status":"success","data":{"result":[{"values":[`, `[1,"1"],`),
		"spaces":               fill(``, ` `),
	} {
		untrustedtest.Within(t, name, func() {
			if _, err := decode(strings.NewReader(text), limits{most, 1000}, newTexts(), func(series) {}); err == nil {
				t.Errorf("%s: want an error", name)
			}
		})
	}
}
