// What `npm test` says of files that do not come to their end.

import { equal, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PATIENCE_MS } from "./patience.ts";
import { makeFolder } from "./run-folder.ts";

const NEVER_MS = PATIENCE_MS;

const ENDINGS: readonly [what: string, body: string, boundMs: number, code: number, says: RegExp][] = [
	[
		"is ended with success within a test fails",
		"process.exit(0);",
		NEVER_MS,
		1,
		/one\.test\.ts was ended before its tests were\. Error: Ended here(?:\n.*)+one\.test\.ts:3:/,
	],
	[
		"leaves something open fails",
		"createServer().listen(0);",
		1_000,
		1,
		/one\.test\.ts has not ended within 1 seconds\. Still open: .*TCPServerWrap/,
	],
	[
		"starts what ends as it likes passes",
		'await once(fork(process.argv[1].replace("one.test.ts", "child.mjs")), "exit");',
		NEVER_MS,
		0,
		/^# pass 1$/m,
	],
];

for (const [what, body, boundMs, code, says] of ENDINGS) {
	test(`a file that ${what}`, (t) => {
		const folder = makeFolder("bound");
		t.after(() => rmSync(folder, { recursive: true }));
		const file = join(folder, "one.test.ts");
		const imports = `import { fork } from "node:child_process"; import { once } from "node:events";
import { createServer } from "node:net"; import { test } from "node:test";`;
		writeFileSync(file, `${imports}\ntest("one", async () => { ${body} });`);
		writeFileSync(join(folder, "child.mjs"), "process.exit(0);");
		const bound = `--import=${new URL("./bound-file.ts", import.meta.url)}?ms=${boundMs}`;
		const { status, stdout, stderr } = spawnSync(
			process.execPath,
			[bound, "--test", "--test-reporter=tap", file],
			{ env: { PATH: process.env["PATH"] ?? "" }, encoding: "utf8", timeout: PATIENCE_MS },
		);
		const said = `${stderr}${stdout}`;
		equal(status, code, said);
		match(said, says);
	});
}
