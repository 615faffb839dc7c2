package report

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lambdac/lambdac/internal/testenv"
)

// frames shows the report at the width of a phone, light and dark, and writes
// what it sees into the body: overflow, background and the chart shown of each,
// what was fetched, and errors.
const frames = `<!doctype html><iframe id="light" width="400" height="900" style="color-scheme:light;border:0" src="report.html"></iframe>
<iframe id="dark" width="400" height="900" style="color-scheme:dark;border:0" src="report.html"></iframe><script>
addEventListener("load", () => {
  const seen = ["light", "dark"].map((id) => {
    const w = document.getElementById(id).contentWindow, d = w.document, root = d.documentElement;
    const shown = [...d.querySelectorAll("figure > div")].filter((e) => w.getComputedStyle(e).display != "none").map((e) => e.className);
    return [id, "overflow", Math.max(0, root.scrollWidth - 400), w.getComputedStyle(d.body).backgroundColor, shown.join("+"), "fetched", w.performance.getEntriesByType("resource").length].join(" ");
  });
  document.body.textContent = "SEEN " + seen.join(" | ") + " END";
});
</script>`

// TestBrowser opens the page in a browser without a window.
func TestBrowser(t *testing.T) {
	testenv.Long(t)
	chromium := testenv.Command(t, "chromium")
	dir := t.TempDir()
	for name, text := range map[string]string{"report.html": html(t, wholeRun()), "frames.html": frames} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out, messages strings.Builder
	c := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--no-first-run",
		"--disable-background-networking", "--user-data-dir="+filepath.Join(dir, "profile"), "--enable-logging=stderr", "--dump-dom", "file://"+filepath.Join(dir, "frames.html"))
	c.Stdout, c.Stderr = &out, &messages
	if err := c.Run(); err != nil {
		t.Fatalf("%v: %.2000s", err, messages.String())
	}
	_, seen, _ := strings.Cut(out.String(), "SEEN ")
	seen, _, _ = strings.Cut(seen, " END")
	const want = "light overflow 0 rgb(255, 255, 255) scroll light+scroll light+scroll light fetched 0 | dark overflow 0 rgb(15, 18, 22) scroll dark+scroll dark+scroll dark fetched 0"
	if seen != want {
		t.Errorf("seen %q, want %q", seen, want)
	}
	if strings.Contains(messages.String(), "CONSOLE") {
		t.Errorf("the console says: %.2000s", messages.String())
	}
}
