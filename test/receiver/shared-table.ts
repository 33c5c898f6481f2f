// Checks that two processes with one table of callbacks never work on one conversion at the same time, and work on each
// event once, also if one of them is killed.

import { deepEqual, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { sampleEvent } from "../../receiver/src/sample-delivery.test-support.ts";
import { startHttpServer } from "../support/http-server.ts";
import type { Settings } from "../support/run-program.ts";
import { until } from "../support/until.ts";
import type { ShopFolder } from "./shop-folder.ts";

/** A shop's table of callbacks, which the test reads and writes like an administrator. */
export interface SharedTable {
	/** Settings with which the program opens the table. */
	settings: Settings;
	insert(events: readonly (typeof sampleEvent)[]): unknown;
	/** Returns the number of events that are not done. */
	countOpen(): unknown;
	/** Returns the conversions that are claimed. */
	listClaims(): Promise<readonly string[]> | readonly string[];
	/** Makes all claims end, as they do after some time. */
	endClaims(): unknown;
}

/** Program whose work is a request to the test, which takes as long as the test wants. */
const WORKER = `
import { DatabaseSync } from "node:sqlite";
import { createDurableReceiver } from "@ringback/receiver/durable";
import { openPostgresStore } from "@ringback/receiver/postgres";
import { openSqliteStore } from "@ringback/receiver/sqlite";
import pg from "pg";

const { DATABASE_FILE, DATABASE_URL, WORK_URL, WORKER } = process.env;
const store = DATABASE_FILE
	? openSqliteStore(new DatabaseSync(DATABASE_FILE, { timeout: 5_000 }))
	: await openPostgresStore(new pg.Pool({ connectionString: DATABASE_URL }));
const receiver = createDurableReceiver({
	secret: "rbs_shop",
	...store.callbacks,
	sweepEveryMs: 50,
	async onEvent({ conversionId, event }) {
		const query = new URLSearchParams({ conversionId, event, worker: WORKER });
		const answer = await fetch(WORK_URL + "/?" + query, { headers: { connection: "close" } });
		await answer.arrayBuffer();
	},
});
setInterval(() => receiver, 60_000);
`;
const EVENTS = ["conversion.recorded", "conversion.approved"] as const;
const CONVERSIONS = 12;
/** Number of conversions that two processes work on at a time, with the default of `maxConcurrent`. */
const AT_A_TIME = 8;

interface Work {
	conversionId: string;
	worker: string;
	response: ServerResponse;
}

export async function checkSharedTable(t: TestContext, shop: ShopFolder, table: SharedTable): Promise<void> {
	const begun: string[] = [];
	const running: Work[] = [];
	const overlaps: string[] = [];
	let isHeld = true;
	const url = await startHttpServer(t, (request, response) => {
		const query = new URL(request.url ?? "", "http://work").searchParams;
		const { conversionId = "", event = "", worker = "" } = Object.fromEntries(query);
		begun.push(`${conversionId} ${event}`);
		if (running.some((other) => other.conversionId === conversionId)) overlaps.push(conversionId);
		const work = { conversionId, worker, response };
		running.push(work);
		response.on("close", () => running.splice(running.indexOf(work), 1));
		if (!isHeld) response.end();
	});
	const release = () => {
		isHeld = false;
		for (const { response } of running) response.end();
	};
	writeFileSync(join(shop.folder, "event-worker.mjs"), WORKER);
	const start = (worker: string) =>
		shop.start(process.execPath, ["event-worker.mjs"], { ...table.settings, WORK_URL: url, WORKER: worker });
	const eventsOf = (conversionId: string) => EVENTS.map((event) => ({ ...sampleEvent, conversionId, event }));

	await table.insert(Array.from({ length: CONVERSIONS }, (_, index) => eventsOf(`cnv_${index}`)).flat());
	const programs = new Map(["one", "two"].map((worker) => [worker, start(worker)]));
	const output = () => [...programs.values()].map((program) => program.output).join("\n");
	await until(() => running.length === AT_A_TIME, output);
	deepEqual(overlaps, [], "two events of one conversion at a time");
	deepEqual(new Set(running.map(({ worker }) => worker)), new Set(["one", "two"]));
	release();
	await until(async () => (await table.countOpen()) === 0, output);
	deepEqual([begun.length, new Set(begun).size, overlaps], [2 * CONVERSIONS, 2 * CONVERSIONS, []]);
	await until(async () => (await table.listClaims()).length === 0, output);

	isHeld = true;
	await table.insert(eventsOf("cnv_left").slice(0, 1));
	await until(() => running.length === 1, output);
	const killed = running[0]?.worker ?? "";
	const before = begun.length;
	await programs.get(killed)?.stop();
	await until(() => running.length === 0, output);
	ok((await table.listClaims()).includes("cnv_left"), "the claim of the killed process");
	await table.endClaims();
	await until(() => running.length === 1, output);
	deepEqual([running[0]?.worker === killed, begun.length], [false, before + 1]);
	release();
	const isOver = async () =>
		(await table.countOpen()) === 0 && !(await table.listClaims()).includes("cnv_left");
	await until(isOver, output);
	for (const program of programs.values()) await program.stop();
}
