// Tests the sealing key beside a SQLite file. The key is created once, is private, and is never replaced.

import { deepEqual, equal, match, throws } from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Worker } from "node:worker_threads";
import { KeyFileError, readOrMakeKeyFile } from "./key-file.ts";

test("a new key has 32 random bytes, in a file that only this account can read", (t) => {
	const [one, other] = [join(makeFolder(t), "a.key"), join(makeFolder(t), "b.key")];
	const { key, isNew } = readOrMakeKeyFile(one);
	deepEqual([key.length, isNew], [32, true]);
	match(readFileSync(one, "utf8"), /^[0-9a-f]{64}\n$/);
	equal(statSync(one).mode & 0o777, 0o600);
	equal(Buffer.from(key).equals(Buffer.from(readOrMakeKeyFile(other).key)), false);
});

test("the next start reads the same key and leaves no other file", (t) => {
	const folder = makeFolder(t);
	const path = join(folder, "ringback.db.key");
	const made = readOrMakeKeyFile(path).key;
	const again = readOrMakeKeyFile(path);
	deepEqual(
		[Buffer.from(again.key).toString("hex"), again.isNew],
		[Buffer.from(made).toString("hex"), false],
	);
	deepEqual(readdirSync(folder), ["ringback.db.key"]);
});

test("a file without a valid key is refused with advice, and is not changed", (t) => {
	const path = join(makeFolder(t), "ringback.db.key");
	for (const text of ["", "ab", "not hex at all", "ab".repeat(31), `${"ab".repeat(32)}zz`]) {
		writeFileSync(path, text);
		throws(() => readOrMakeKeyFile(path), KeyFileError);
		throws(() => readOrMakeKeyFile(path), /ringback\.db\.key does not hold a key .*Restore it from a backup/);
		equal(readFileSync(path, "utf8"), text);
	}
});

test("when several processes start at once, one creates the key and all use it", async (t) => {
	const folder = makeFolder(t);
	const answers = await Promise.all(Array.from({ length: RIVALS }, () => race(t, folder)));
	for (let round = 0; round < ROUNDS; round++) {
		const keys = new Set(answers.map((answer) => answer[round]?.key));
		equal(keys.size, 1, `round ${round}: ${[...keys].join(", ")}`);
		equal(answers.filter((answer) => answer[round]?.isNew).length, 1);
	}
});

const RIVALS = 2;
const ROUNDS = 150;
const START_LINE = new Int32Array(new SharedArrayBuffer(ROUNDS * Int32Array.BYTES_PER_ELEMENT));

/**
 * Starts a thread. In each round it waits until all threads are ready, and then reads or creates the key of
 * that round.
 */
function race(t: TestContext, folder: string): Promise<{ key: string; isNew: boolean }[]> {
	const source = `
		const { parentPort, workerData: { module, folder, line, rivals, rounds } } = require("node:worker_threads");
		import(module).then(({ readOrMakeKeyFile }) => {
			const answers = [];
			for (let round = 0; round < rounds; round++) {
				Atomics.add(line, round, 1);
				while (Atomics.load(line, round) < rivals) Atomics.pause?.();
				try {
					const { key, isNew } = readOrMakeKeyFile(folder + "/" + round + ".key");
					answers.push({ key: Buffer.from(key).toString("hex"), isNew });
				} catch (error) {
					answers.push({ key: String(error), isNew: false });
				}
			}
			parentPort.postMessage(answers);
		});`;
	const worker = new Worker(source, {
		eval: true,
		workerData: {
			module: new URL("key-file.ts", import.meta.url).href,
			folder,
			line: START_LINE,
			rivals: RIVALS,
			rounds: ROUNDS,
		},
	});
	t.after(() => worker.terminate());
	return new Promise((resolve, reject) => {
		worker.once("message", resolve).once("error", reject);
	});
}

function makeFolder(t: TestContext): string {
	const folder = mkdtempSync(join(tmpdir(), "ringback-key-"));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}
