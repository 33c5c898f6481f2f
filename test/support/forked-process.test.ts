import { deepEqual, equal, rejects } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { type ForkedProcess, forkProcess, type Messages } from "./forked-process.ts";
import { until } from "./until.ts";

type Doubler = ForkedProcess<ReadonlyMap<string, number>, number, number>;

const DOUBLING: Messages<ReadonlyMap<string, number>, number, number> = {
	name: "the doubler",
	opened: z.map(z.string(), z.number()),
	order: z.number(),
	answer: z.number(),
};
/** Doubles; ends at 13, says nothing at 14 and something else than it should at 15. */
const OBEY = `async (order) => {
	if (order === 13) process.exit(3);
	if (order === 14) await new Promise(() => undefined);
	return order === 15 ? "many" : order * 2;
}`;

suite("a forked process", () => {
	test("says what it opened and answers each order with its own answer", async (t) => {
		const doubler = await open(t);
		deepEqual(doubler.opened, new Map([["seven", 7]]));
		deepEqual(await Promise.all([1, 2, 3].map((order) => doubler.ask(order))), [2, 4, 6]);
	});

	test("that ends rejects what waits for it and what is asked later, and can still be closed", async (t) => {
		const doubler = await open(t);
		const waiting = doubler.ask(14);
		await Promise.all([
			rejects(waiting, /^Error: the doubler ended with 3$/),
			rejects(doubler.ask(13), /^Error: the doubler ended with 3$/),
		]);
		await rejects(doubler.ask(1), /^Error: the doubler ended with 3$/);
		await doubler.close();
	});

	test("that is closed is gone, with what it still had to answer", async (t) => {
		const doubler = await open(t);
		const waiting = rejects(doubler.ask(14), /^Error: the doubler ended with SIGKILL$/);
		await Promise.all([doubler.close(), doubler.close()]);
		await waiting;
		await until(() => countProcesses() === 0);
	});

	test("that says something else than it should is not believed", async (t) => {
		const doubler = await open(t);
		await rejects(doubler.ask(15), z.ZodError);
		equal(await doubler.ask(4), 8);
	});

	test("that ends before it opened is a rejection, and nothing is left", async (t) => {
		await rejects(open(t, "process.exit(4)"), /^Error: the doubler ended with 4$/);
		await until(() => countProcesses() === 0);
	});

	test("that opens something else than it should is a rejection, and nothing is left", async (t) => {
		await rejects(open(t, "'nothing'"), z.ZodError);
		await until(() => countProcesses() === 0);
	});
});

function countProcesses(): number {
	return process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;
}

async function open(t: TestContext, opened = "new Map([['seven', 7]])"): Promise<Doubler> {
	const folder = mkdtempSync(join(tmpdir(), "ringback-forked-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const script = join(folder, "doubler.mjs");
	const serving = new URL("./forked-process.ts", import.meta.url);
	const messages = "{ order: { parse: (order) => order } }";
	writeFileSync(
		script,
		`import { serveParent } from "${serving}";\nserveParent(${messages}, ${opened}, ${OBEY});\n`,
	);
	const doubler = await forkProcess(pathToFileURL(script), [], DOUBLING);
	t.after(() => doubler.close());
	return doubler;
}
