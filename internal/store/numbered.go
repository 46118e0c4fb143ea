package store

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

var numbersOfValues = regexp.MustCompile(`\$(\d+)`)

// withNumbers writes a statement whose values have names, @until, with numbers, $2, which both databases know: a value
// is given once however often it is named. gorm would give it each time, and a statement with so many is not kept (see
// mostParameters) but parsed by every page that asks it. A list is in parentheses, and must not be empty.
func withNumbers(query string, named map[string]any) (text string, values []any, err error) {
	var out strings.Builder
	out.Grow(len(query))
	written := make(map[string]string, len(named))
	for {
		before, rest, found := strings.Cut(query, "@")
		out.WriteString(before)
		if !found {
			return out.String(), values, nil
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })
		if end < 0 {
			end = len(rest)
		}
		name := rest[:end]
		query = rest[end:]
		number, known := written[name]
		if !known {
			value, ok := named[name]
			if !ok {
				return "", nil, fmt.Errorf("the statement names %q, which has no value", name)
			}
			list, several := value.([]string)
			if !several {
				values = append(values, value)
				number = "$" + strconv.Itoa(len(values))
			} else {
				numbers := make([]string, len(list))
				for i, one := range list {
					values = append(values, one)
					numbers[i] = "$" + strconv.Itoa(len(values))
				}
				number = "(" + strings.Join(numbers, ",") + ")"
			}
			written[name] = number
		}
		out.WriteString(number)
	}
}

// askNumbered asks a statement whose values have names, past gorm, and reads every row.
func askNumbered[Row any](ctx context.Context, db *gorm.DB, query string, named map[string]any) ([]Row, error) {
	text, values, err := withNumbers(query, named)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	rows, err := db.Statement.ConnPool.QueryContext(ctx, text, values...)
	db.Logger.Trace(ctx, begun, func() (string, int64) {
		return logger.ExplainSQL(text, numbersOfValues, "'", values...), -1
	}, err)
	if err != nil {
		return nil, failure(err)
	}
	return scanned[Row](db, rows)
}
