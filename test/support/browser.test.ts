// Which browser the page tests take, and what is said where there is none. A stand-in is a file of that name that is
// no program for this machine, as one for another processor is.

import { equal, match, notEqual, ok } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { BROWSER_VARIABLE, findBrowser } from "./browser.ts";
import { reportNotRun } from "./not-run.ts";

const HAS_NPMS = process.platform === "linux" && process.arch === "x64";

test("one that is named and does not start is not replaced by another", async (t) => {
	const path = join(folderWithStandIn(t, "named"), "named");
	const found = await findBrowser({ ...process.env, [BROWSER_VARIABLE]: path });
	ok(!found.isThere);
	match(found.reason, new RegExp(`${BROWSER_VARIABLE}=${path} does not start`));
});

test("one of the machine's own that does not start is passed over", {
	skip: HAS_NPMS && "npm's is first here",
}, async (t) => {
	const path = join(folderWithStandIn(t, "chromium-headless-shell"), "chromium-headless-shell");
	const found = await findBrowser({ ...process.env, PATH: `${join(path, "..")}:${process.env["PATH"]}` });
	if (found.isThere) {
		await found.browser.close();
		notEqual(found.path, path);
	} else {
		match(found.reason, new RegExp(`${path} does not start`));
	}
});

test("without any the reason says what to install", {
	skip: HAS_NPMS && "npm's is always here",
}, async () => {
	const found = await findBrowser({ PATH: "" });
	ok(!found.isThere);
	match(found.reason, /npm's Chromium is not for \w+ on \w+\. Install one .* or set RINGBACK_TEST_BROWSER/);
});

test("what cannot be tested on a machine is a failure in CI, and is said elsewhere", (t) => {
	const before = process.env["CI"];
	t.after(() => {
		if (before === undefined) delete process.env["CI"];
		else process.env["CI"] = before;
	});
	for (const ci of ["true", "1"]) {
		process.env["CI"] = ci;
		let failure = "";
		try {
			reportNotRun("There is none.");
		} catch (error) {
			failure = String(error);
		}
		match(failure, /There is none\. In CI every test must run\./);
	}
	process.env["CI"] = "false";
	const file = process.env["RINGBACK_TEST_NOT_RUN_FILE"];
	delete process.env["RINGBACK_TEST_NOT_RUN_FILE"];
	t.after(() => {
		if (file !== undefined) process.env["RINGBACK_TEST_NOT_RUN_FILE"] = file;
	});
	equal(reportNotRun("There is none."), "There is none.");
});

function folderWithStandIn(t: TestContext, name: string): string {
	const folder = mkdtempSync(join(tmpdir(), "ringback-browser-"));
	t.after(() => rmSync(folder, { recursive: true }));
	// The first bytes of a program for a processor that no machine of ours has.
	const header = Buffer.from("7f454c4602010100000000000000000002002b0001000000", "hex");
	writeFileSync(join(folder, name), header, { mode: 0o755 });
	return folder;
}
