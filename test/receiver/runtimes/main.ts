// `npm run test:runtimes` runs the README's programs unchanged with the packed package, on every other
// runtime and in the large framework that the package names. They are downloaded by this command; `npm test`
// downloads nothing.

import { equal, match, notEqual } from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { sampleEvent } from "../../../receiver/src/sample-delivery.test-support.ts";
import { reportNotRun } from "../../support/not-run.ts";
import { runProgram } from "../../support/run-program.ts";
import { checkTypes, NODE_TYPES } from "../check-types.ts";
import { NEXT_CONSUMER } from "../consumer-programs.ts";
import { checkReceiver, freshDelivery, SECRET, sendDelivery } from "../delivery-cases.ts";
import {
	checkBusyProgram,
	checkCommand,
	checkProgram,
	checkVectors,
	QUERY,
	type ReceiverProgram,
} from "../program-cases.ts";
import { readPrograms, writePrograms } from "../readme-programs.ts";
import { ANNOUNCE, openShopFolder, type ShopFolder } from "../shop-folder.ts";
import { type InstalledPackages, installPackages } from "./packages-folder.ts";

const OUR_COMMAND = fileURLToPath(new URL("../../../src/ringback.js", import.meta.url));
const MACHINE = `${process.platform}-${process.arch}`;
const NEXT = "next/dist/bin/next";
const DENO_RIGHTS = ["run", "--no-remote", "--allow-net=127.0.0.1", "--allow-env", "--allow-read"];

/** Node versions, with commands as paths below node_modules. */
const NODES: readonly ReceiverProgram[] = [18, 20].map((major) => ({
	title: `Node ${major}`,
	command: `node${major}-${MACHINE}/bin/node`,
	program: "receiver.mjs",
}));
const RUNTIMES: readonly ReceiverProgram[] = [
	...NODES,
	{ title: "Deno", command: `deno-${MACHINE}/deno`, args: DENO_RIGHTS, program: "deno.mjs" },
	{ title: "Bun", command: `bun-${MACHINE}/bin/bun`, program: "bun.mjs" },
];

let packages: InstalledPackages;
let parent: string;
let shop: ShopFolder;

before(async () => {
	packages = await installPackages();
	parent = packages.isThere ? packages.folder : mkdtempSync(join(tmpdir(), "ringback-runtimes-missing-"));
	shop = await openShopFolder(parent);
});

after(async () => {
	await shop.close();
	if (!packages.isThere) rmSync(parent, { recursive: true });
});

describe("the README's receiver processes each valid event once, and nothing else", () => {
	eachOf(RUNTIMES, (runtime) => checkProgram(shop, runtime));

	test("the README's receiver works in Next.js, built for production", async (t) => {
		if (isMissing("Next.js", NEXT, t)) return;
		const next = join(parent, "node_modules", NEXT);
		const settings = { NEXT_TELEMETRY_DISABLED: "1" };
		const config = { turbopack: { root: parent } };
		writeFileSync(join(shop.folder, "next.config.mjs"), `export default ${JSON.stringify(config)};\n`);
		const route = readPrograms().get("app/postback/route.js") ?? "";
		const withPath = route.replace(
			"after,\n})",
			`after,\n\tpath: ${JSON.stringify(`/restored${QUERY}`)},\n})`,
		);
		notEqual(withPath, route);
		writePrograms(new Map([["app/restored/route.js", withPath]]), shop.folder);
		// No secret is set here, as on a machine that only builds.
		await runProgram(process.execPath, [next, "build"], shop.folder, settings);
		const args = ["--import", ANNOUNCE, next, "start", "--hostname", "127.0.0.1", "--port", "0"];
		const { program, origin } = await shop.listen(process.execPath, args, { ...settings, ...SECRET });
		// Next.js rewrites a query like this one. The query then differs from the signed one, unless `path` is
		// given.
		equal(await sendDelivery(origin, freshDelivery({ path: `/postback${QUERY}` })), 401);
		const other = JSON.stringify({ ...sampleEvent, orderId: "RESTORED" });
		equal(await sendDelivery(origin, freshDelivery({ path: `/restored${QUERY}`, rawBody: other })), 204);
		await program.said(/for order RESTORED/);
		await checkReceiver(program, origin, "/postback?shop=42");
		await program.stop();
	});
});

describe("work that blocks the thread forever does not delay the answer", () => {
	eachOf(RUNTIMES, (runtime) => checkBusyProgram(shop, runtime));
});

describe("the shared vectors verify, and no altered one does", () => {
	eachOf(RUNTIMES, (runtime) => checkVectors(shop, runtime));
});

describe("the package's command starts by the name that a shop types", () => {
	eachOf(NODES, (runtime) => checkCommand(shop, runtime));
});

describe("our own command says that this Node is too old for it", () => {
	eachOf(NODES, async ({ title, command }) => {
		const program = shop.start(command, [OUR_COMMAND, "serve"]);
		equal(await program.ended(), 1);
		match(program.output, new RegExp(`^Ringback needs Node 26, and this is ${title}\\..*\\n$`));
	});
});

test("the adapter for Next.js fits its own types", async (t) => {
	if (isMissing("Next.js", NEXT, t)) return;
	const options = { module: "nodenext", moduleResolution: "nodenext", lib: ["es2022", "dom"] };
	const types = { typeRoots: [NODE_TYPES], types: ["node"] };
	// The framework's own declarations are not checked.
	await checkTypes(shop.folder, { "next.ts": NEXT_CONSUMER }, { ...options, ...types, skipLibCheck: true });
});

function eachOf(
	runtimes: readonly ReceiverProgram[],
	check: (runtime: ReceiverProgram) => Promise<void>,
): void {
	for (const runtime of runtimes) {
		test(runtime.title, async (t) => {
			if (isMissing(runtime.title, runtime.command, t)) return;
			await check({ ...runtime, command: join(parent, "node_modules", runtime.command) });
		});
	}
}

/**
 * Returns true if the runtime is missing, and skips the test. The end of the run names it, and in CI it is a
 * failure.
 */
function isMissing(title: string, path: string, t: TestContext): boolean {
	if (existsSync(join(parent, "node_modules", path))) return false;
	const cause = packages.isThere ? `npm has no package of it for ${MACHINE}` : packages.reason;
	// The test cannot run without the runtime.
	t.skip(reportNotRun(`${title} could not be installed: ${cause}.`));
	return true;
}
