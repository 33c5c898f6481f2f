// Uploads to the real command over real sockets: what thirty at once cost it, who may send one, and what is left.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readdirSync } from "node:fs";
import type { ClientRequest } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { forkProcess } from "../support/forked-process.ts";
import { until } from "../support/until.ts";
import { UPLOAD_MESSAGES, type UploadOrder } from "./upload-messages.ts";
import { beginUpload, FOURTEEN_MIB, upload } from "./upload-request.ts";
import { openUploadSetup, type UploadSetup, watchCost } from "./upload-setup.ts";

/** Of an idle service, which has given back what it did not need. Thirty files in memory would be 420. */
const MAX_GROWTH_MIB = 100;
/**
 * /healthz, nine times of ten. A tenth of a second is promised; the rest is for a machine that runs every other test
 * at the same time.
 */
const HEALTH_LIMIT_MS = 300;
const SMALL = Buffer.from("orderId,decision\nA-1,approve\n");

test("uploads to a running service", async (t) => {
	const setup = await openUploadSetup(t, 8);
	const [one, other, third] = setup.owners;
	ok(one !== undefined && other !== undefined && third !== undefined);

	await t.test(
		"what is wrong with a file is said on the page, also when the browser is still sending",
		async () => {
			for (const isChunked of [false, true]) {
				// Two people: of one, only the first is read to its end before it is answered.
				const answer = await upload(setup, FOURTEEN_MIB, { by: isChunked ? setup.staff : one, isChunked });
				equal(answer.status, 413);
				match(answer.text, /The file is larger than 10 MB/);
			}
			equal(countJobs(setup), 0);
		},
	);

	await t.test(
		"nobody who is not signed in, has no right to the programme or is on another site can upload anything",
		async () => {
			const nowhere = { ...setup, path: setup.path.replace(/prg_\w+/, "prg_01KZ0000000000000000000000") };
			deepEqual(
				[
					(await upload(setup, SMALL, { by: null })).status,
					(await upload(nowhere, SMALL, { by: one })).status,
					(await upload(setup, SMALL, { by: one, from: "cross-site" })).status,
				],
				[303, 404, 403],
			);
			equal(countJobs(setup), 0);
			const taken = await upload(setup, SMALL, { by: one });
			deepEqual([taken.status, countJobs(setup)], [303, 1]);
		},
	);

	await t.test(
		"whoever stalls holds two slots at most, and gives them back when the connection ends",
		async (t) => {
			const stalled = [one, one, other, other].map((by) => beginUpload(setup, { by }));
			t.after(() => hangUp(stalled));
			let refused = await upload(setup, SMALL, { by: one });
			await until(async () => {
				refused = await upload(setup, SMALL, { by: one });
				return refused.status === 429;
			});
			match(
				refused.text,
				/Too many files are being uploaded at once: 2 by one person, or 4 in all\. Wait a few seconds/,
			);
			await until(async () => (await upload(setup, SMALL, { by: third })).status === 429);
			hangUp(stalled);
			await until(async () => (await upload(setup, SMALL, { by: one })).status === 303);
			await until(async () => (await upload(setup, SMALL, { by: third })).status === 303);
			equal(setup.running.stderr.includes("a page failed"), false, "nothing of it is our failure");
		},
	);

	await t.test("thirty uploads at once leave the memory as it was, and delay nobody else", async (t) => {
		const sender = await forkProcess(new URL("./upload-process.ts", import.meta.url), [], UPLOAD_MESSAGES);
		t.after(() => sender.close());
		const BURSTS: readonly [
			what: string,
			burst: Pick<UploadOrder, "file" | "isChunked" | "senders">,
			taken: string[],
		][] = [
			["nobody's", { file: "fourteen MiB", isChunked: false, senders: [null] }, ["303"]],
			["one person's", { file: "fourteen MiB", isChunked: false, senders: [one] }, ["413"]],
			[
				"one person's, of a length not told",
				{ file: "fourteen MiB", isChunked: true, senders: [one] },
				["413", "429"],
			],
			[
				"several people's",
				{ file: "fourteen MiB", isChunked: true, senders: [...setup.owners] },
				["413", "429"],
			],
			[
				"several people's, read to the end",
				{ file: "40,000 rows", isChunked: false, senders: [...setup.owners] },
				["422", "429"],
			],
		];
		for (const [what, burst, statuses] of BURSTS) {
			const senders = burst.senders.map((by) => by && { cookies: new Map(by.cookies) });
			const { cost, done } = await watchCost(setup, () =>
				sender.ask({ ...burst, senders, url: setup.url, path: setup.path, count: 30 }),
			);
			t.diagnostic(`${what}: ${JSON.stringify({ ...cost, answers: [...done] })}`);
			for (const status of statuses) ok((done.get(status) ?? 0) > 0, `${what}: ${JSON.stringify([...done])}`);
			deepEqual(
				[...done.keys()].filter((outcome) => outcome !== "hung up" && !statuses.includes(outcome)),
				[],
				what,
			);
			ok(cost.most - cost.before < MAX_GROWTH_MIB, `${what}: ${JSON.stringify(cost)}`);
			ok(cost.healthMs.nineOfTen < HEALTH_LIMIT_MS, `${what}: ${JSON.stringify(cost)}`);
		}
		equal((await upload(setup, SMALL, { by: one })).status, 303, "every slot was given back");
		deepEqual(leftOvers(setup), []);
	});

	await t.test(
		"a service that is killed in the middle of an upload leaves nothing of it on the disk",
		async (t) => {
			const stalled = [beginUpload(setup, { by: one }), beginUpload(setup, { by: one })];
			t.after(() => hangUp(stalled));
			await until(async () => (await upload(setup, SMALL, { by: one })).status === 429);
			await until(
				() => leftOvers(setup).length === 0,
				() => "a file keeps its name while it is written",
			);
			setup.running.kill("SIGKILL");
			await setup.running.ended();
			deepEqual(leftOvers(setup), []);
		},
	);
});

function leftOvers({ home }: UploadSetup): string[] {
	return readdirSync(home.folder).filter((name) => name.includes("upload"));
}

function countJobs({ home }: UploadSetup): number {
	const database = new DatabaseSync(home.databasePath, { readOnly: true });
	try {
		return database.prepare("select id from jobs").all().length;
	} finally {
		database.close();
	}
}

function hangUp(sending: readonly ClientRequest[]): void {
	for (const request of sending) request.destroy();
}
