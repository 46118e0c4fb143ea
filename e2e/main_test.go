// Package e2e holds the stories: the real portal as a process, beside a real API server, scheduler, Prometheus, sign-in
// provider and browser. They run under `make e2e`, which starts a devstack and says in DEVSTACK_READY where it is.
package e2e

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpu-portal/gpu-portal/e2e/stack"
	"github.com/gpu-portal/gpu-portal/internal/notify/notifytest"
)

var (
	world  stack.Ready
	root   string
	portal *stack.Portal
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if flag.Parse(); flag.Lookup("test.list").Value.String() != "" {
		return m.Run()
	}
	file := os.Getenv(stack.ReadyVariable)
	if file == "" {
		fmt.Println("SKIP e2e: no devstack runs here (make e2e starts one and sets DEVSTACK_READY)")
		return 0
	}
	err := deal(os.Getenv(shareVariable))
	if err == nil {
		root, err = stack.Root()
	}
	if err == nil {
		world, err = stack.ReadReady(file)
	}
	if err != nil {
		fmt.Println("e2e:", err)
		return 1
	}
	dir, err := os.MkdirTemp("", "portal-e2e-")
	if err != nil {
		fmt.Println("e2e:", err)
		return 1
	}
	code := 1
	defer func() {
		if code == 0 {
			_ = os.RemoveAll(dir)
		}
	}()
	log, err := os.Create(dir + "/portal.log")
	if err != nil {
		fmt.Println("e2e:", err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if post, err = notifytest.NewPost(); err == nil {
		defer post.Close()
		portal, err = stack.NewPortal(ctx, stack.PortalOptions{Root: root, Dir: dir, Ready: world, Instance: "e2e" + runID,
			Spaces: spaces("e2e"), MinLease: "1s", Out: log, Change: func(config map[string]any) {
				outside(config)
				withConsole(config)
			}})
	}
	if err == nil {
		accounts = append(accounts, portal.Account)
		err = portal.Start(ctx)
	}
	if err == nil {
		err = answersTheConsole(ctx)
	}
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		fmt.Printf("e2e: %v\n%s\n", err, text)
		return 1
	}
	defer portal.Stop()
	defer closeBrowser()
	code = m.Run()
	code = max(code, onlyOwnRights())
	if code != 0 {
		fmt.Printf("the portal's log is in %s; its last warnings and errors:\n%s\n", log.Name(), warnings(log.Name(), 4_000))
	}
	return code
}

// warnings is the end of a log, without the lines of each call, which would bury what failed.
func warnings(name string, most int) string {
	text, _ := os.ReadFile(name)
	var said []byte
	for line := range bytes.Lines(text) {
		if !bytes.Contains(line, []byte("level=INFO")) {
			said = append(said, line...)
		}
	}
	return string(said[max(0, len(said)-most):])
}

// shareVariable says which share of the stories to run: "2/3" is the second of three. Each share has a world of its
// own, so that shares may run beside each other; unset means all stories. "2/3+500": the first share has 500 seconds
// of other tests to run, and so fewer stories.
const shareVariable = "STORIES"

// long are the stories that take much longer than the others, in seconds on two cores that another share and the other
// tests use too. Those that are not here take about usual.
var long = map[string]int{"TestEveryPageInEveryLook": 416, "TestAnIdleGPUIsGivenBack": 206,
	"TestAScheduleStopsAndStarts": 189, "TestCatalogInEveryLook": 172, "TestSharedStorageOfATeam": 147,
	"TestAnIdlePodIsGivenBack": 120, "TestASmallerSizeWouldDo": 106, "TestTheLicenseLine": 92,
	"TestABudgetThatIsUsedUp": 83, "TestLicenseCockpit": 80, "TestAClusterThatHangs": 80, "TestHighAvailability": 77,
	"TestScalingOverREST": 74, "TestATeamsOwnImage": 74, "TestATerminalInThePage": 71,
	"TestABadNodeIsGoneAround": 68, "TestALoadShowsOnItsOwnPageAndNoOther": 67, "TestRestoredBackup": 63,
	"TestCatalogEditing": 61, "TestARealJupyterServer": 56, "TestAPanelInAPageOfAnotherSite": 56,
	"TestTwoStepsAndLessThanWasAsked": 54, "TestDatasetFromABucket": 54, "TestADelegationDecides": 53,
	"TestSeatsAndStorageTakeOfTheBudget": 50, "TestSharedUntilADate": 49, "TestTheMapOfTheFleet": 48,
	"TestTheAPIServerTakesEveryGoldenManifest": 47, "TestTrafficOfAnEndpoint": 46,
	"TestADecisionIsUndoneByKeyboard": 46, "TestWhenWillItStart": 43, "TestATeamFromItsFirstDayToItsLast": 43,
	"TestKeysOfAnEndpoint": 42, "TestATerminalLooksRight": 42, "TestAPersonalVolume": 38,
	"TestListsOfRequestsAreFilteredAndPaged": 34, "TestWhatIdleGPUsCost": 32,
	"TestCatalogOffersWhatTheNodesHave": 32}

const usual = 10

// deal leaves to this run the stories of its share: the long ones first, then the others in the order of the files,
// each to the share that has the least to do.
func deal(share string) error {
	if share == "" {
		return nil
	}
	var this, of, others int
	if n, err := fmt.Sscanf(share, "%d/%d+%d", &this, &of, &others); err != nil && n < 2 || this < 1 || this > of {
		return fmt.Errorf("%s=%q: want 1/2 or 1/2+500, for example", shareVariable, share)
	}
	listed, err := exec.Command(os.Args[0], "-test.list", "^Test").Output()
	if err != nil {
		return err
	}
	stories := strings.Fields(string(listed))
	for story := range long {
		if !slices.Contains(stories, story) {
			return fmt.Errorf("there is no story %s any more: take it from those that are long", story)
		}
	}
	slices.SortStableFunc(stories, func(a, b string) int { return cmp.Compare(long[b], long[a]) })
	var mine []string
	takes := make([]int, of) // seconds of each share
	takes[0] = others
	for _, story := range stories {
		least := slices.Index(takes, slices.Min(takes))
		if takes[least] += max(long[story], usual); least == this-1 {
			mine = append(mine, story)
		}
	}
	if len(mine) == 0 {
		return fmt.Errorf("%s=%s: no story is left", shareVariable, share)
	}
	return flag.Set("test.run", "^("+strings.Join(mine, "|")+")$")
}
