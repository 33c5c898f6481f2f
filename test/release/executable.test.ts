// Builds and runs the executable for this machine, in an empty folder and with nothing but the system's C
// library.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import packageJson from "../../package.json" with { type: "json" };
import { buildRelease, executableName, type ReleaseFile } from "../../release/build.ts";
import { ARCHITECTURES } from "../../release/node-package.ts";
import { findSbomProblems } from "../../release/sbom-problems.ts";
import { noteNotRun, reportNotRun } from "../support/not-run.ts";
import { freePort } from "../support/postgres.ts";
import { isLong } from "../support/proof.ts";
import { type Shop, startShop } from "../support/shop.ts";
import { createShopClient } from "../support/shop-client.ts";
import { until } from "../support/until.ts";
import { readContainerfile } from "./containerfile.ts";
import {
	type ExecutableHome,
	findWayToConfine,
	openBareMachine,
	openEmptyFolder,
} from "./executable-home.ts";
import { checkFiles, makeNetwork, reportSale } from "./first-callback.ts";
import { findImageHindrance, openReadOnlyImage } from "./read-only-image.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ARCH = ARCHITECTURES.find((arch) => arch === process.arch);
const NAME = ARCH === undefined ? "" : executableName(ARCH);
const skip =
	process.platform === "linux" && ARCH !== undefined
		? !isLong && "npm run test:long builds it"
		: sayNotHere();

function sayNotHere(): string {
	return leaveOut("The executable is for Linux on x64 and arm64: it is built and run there.");
}

function leaveOut(reason: string): string {
	noteNotRun(reason);
	return reason;
}

function sayNotConfined(): string {
	return reportNotRun(
		"The executable was not tried with the C library alone: that needs root, or user namespaces (unshare).",
	);
}

// The second build runs beside the other tests, because both mostly wait.
describe("the executable", { skip, concurrency: 2 }, () => {
	const folder = mkdtempSync(join(tmpdir(), "ringback-built-"));
	const executable = join(folder, NAME);
	let files: ReleaseFile[] = [];
	const build = (into: string) =>
		buildRelease({
			root: ROOT,
			folder: into,
			architectures: ARCHITECTURES.filter((arch) => arch === ARCH),
			withDebianPackages: false,
			progress: () => undefined,
		});

	before(async () => {
		files = await build(folder);
	});
	after(() => rmSync(folder, { recursive: true, force: true }));

	test("the executable is accompanied by its checksums, its SBOM and the licences, and nothing else", () => {
		deepEqual(readdirSync(folder).sort(), [NAME, `${NAME}.cdx.json`, "LICENSES.txt", "SHA256SUMS"].sort());
		const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8").trimEnd().split("\n");
		deepEqual(
			sums,
			files.filter(({ name }) => name !== "SHA256SUMS").map(({ name, sha256 }) => `${sha256}  ${name}`),
		);
	});

	test("the executable has a valid SBOM with everything that is bundled, what pages send to browsers, and Node with its parts", () => {
		const sbom: unknown = JSON.parse(readFileSync(join(folder, `${NAME}.cdx.json`), "utf8"));
		deepEqual(findSbomProblems(sbom), []);
		const text = JSON.stringify(sbom);
		for (const name of ["hono", "kysely", "pg", "undici", "htmx.org", "uplot", "openssl", "sqlite"]) {
			ok(text.includes(`"name":"${name}"`), name);
		}
		ok(text.includes(files.find(({ name }) => name === NAME)?.sha256 ?? "-"), "its own hash");
		for (const name of ["typescript", "esbuild", "playwright-core", "fast-check"]) {
			ok(!text.includes(`"name":"${name}"`), `${name} is not in it`);
		}
	});

	test("the executable reveals nothing about the machine that built it", () => {
		const bytes = readFileSync(executable);
		// Node's own part contains the paths of its builders.
		const ours = bytes.subarray(bytes.indexOf("createBundleRequire"));
		for (const path of [ROOT, folder, tmpdir()]) equal(ours.indexOf(path), -1, path);
	});

	test("the executable has the same bytes when it is built again in another folder", async (t) => {
		const again = mkdtempSync(join(tmpdir(), "ringback-again-"));
		t.after(() => rmSync(again, { recursive: true, force: true }));
		deepEqual(await build(again), files);
	});

	test("the executable has all commands, in an empty folder and without settings", async (t) => {
		const home = openEmptyFolder(t, executable);
		deepEqual(await home.run(["--version"]), said(`${packageJson.version}\n`));
		const help = await home.run(["--help"]);
		for (const name of ["serve", "migrate", "user create", "doctor", "health", "licences"]) {
			match(help.stdout, new RegExp(`^  ${name} `, "m"));
		}
		match((await home.run(["licences"])).stdout, /^hono \S+ \(MIT\)$[\s\S]*^Node\.js \S+ \(MIT/m);
		equal((await home.run(["migrate"])).code, 0);
		const owner = await home.run(["user", "create", "--email", "olga@shop.example", "--kind", "shop"]);
		match(owner.stdout, /\/welcome\/[0-9a-f]{64}/);
		const terms = ["--currency", "EUR", "--commission", "8", "--fee", "2.5", "--approval-days", "30"];
		const whose = ["--name", "Shop", "--owner", "olga@shop.example"];
		const programme = await home.run(["programme", "create", ...whose, ...terms]);
		const [, id = ""] = /^Next: ringback key issue --programme (prg_\w+)$/m.exec(programme.stdout) ?? [];
		match((await home.run(["key", "issue", "--programme", id])).stdout, /\brbk_/, programme.stderr);
		match((await home.run(["doctor"])).stdout, /schema/);
		deepEqual(globSync("*", { cwd: home.folder }), ["data"], "all it leaves is its database");
	});

	test("the executable takes a newcomer from the first start to a verified callback", (t) =>
		walk(t, openEmptyFolder(t, executable)));

	test("the executable backs up its database while it works, verifies the backup, and starts again from it", async (t) => {
		const home = openEmptyFolder(t, executable);
		const { running, url, shop, credentials } = await startNetwork(t, home);
		const client = createShopClient(url, credentials.apiKey, credentials.secret, Date.now);
		const answered: string[] = [];
		let isOver = false;
		const report = async () => {
			while (!isOver) {
				const orderId = `order-${answered.length}`;
				await client.post("/v1/conversions", { orderId, basketValue: "10.00", currency: "EUR" });
				answered.push(orderId);
			}
		};
		const load = report();
		await until(() => answered.length >= 20);
		const before = [...answered];
		const passphrase = ["--passphrase-file", home.write("passphrase", "correct horse battery staple\n")];
		const made = await home.run(["backup", "one.backup", ...passphrase]);
		equal(made.code, 0, made.stderr);
		const during = answered.length - before.length;
		isOver = true;
		await load;
		ok(during > 0, "the service took reports meanwhile");
		running.kill("SIGKILL");
		await running.ended();
		const verified = await home.run(["verify", "one.backup", ...passphrase]);
		equal(verified.code, 0, verified.stdout);
		match(verified.stdout, /^ok +ledger +\d+ rules hold/m);
		const restored = await home.run(["restore", "one.backup", "--force", ...passphrase]);
		equal(restored.code, 0, restored.stderr);
		equal((await home.run(["hold"])).code, 0);
		const again = home.start(["serve"], { PORT: "0", ...trust(home, shop) });
		await again.said(/^Ringback listens on /m);
		using database = new DatabaseSync(join(home.folder, "data/ringback.db"), { readOnly: true });
		const stored = database.prepare("select order_id from conversions").all();
		const orders = new Set(stored.map((row) => String(row["order_id"])));
		deepEqual(
			before.filter((orderId) => !orders.has(orderId)),
			[],
			"what was answered before the backup is there",
		);
		again.kill("SIGTERM");
		equal((await again.ended()).code, 0);
	});

	const hindrance = skip === false ? findImageHindrance() : null;
	const skipImage = hindrance === null ? false : leaveOut(hindrance);
	test("the executable runs as the image runs it, with its user, a read-only root, and a working health check", {
		skip: skipImage,
	}, async (t) => {
		const settings = readContainerfile();
		equal(settings.folder, "/");
		const image = openReadOnlyImage(t, executable, settings);
		// The port is on this machine and not in a container, so a free one is chosen.
		const own = { PORT: String(await freePort()), RINGBACK_METRICS_ADDRESS: "off" };
		const check = () => image.run(settings.healthCheck, own).ended();
		equal((await check()).code, 1, "nobody is there yet");
		const running = image.run(settings.command, { ...own, RINGBACK_DRAIN_SECONDS: "300" });
		await running.said(/^Ringback listens on /m);
		const healthy = await check();
		equal(healthy.code, 0, healthy.stderr);
		const status = readFileSync(`/proc/${running.pid}/status`, "utf8");
		const [uid = ""] = settings.user.split(":");
		match(status, new RegExp(`^Uid:\\t${uid}\\t${uid}\\t${uid}\\t${uid}$`, "m"));
		match(status, /^CapEff:\t0+$[\s\S]*^NoNewPrivs:\t1$/m);
		deepEqual(
			readdirSync(image.data)
				.filter((name) => !/-(?:wal|shm)$/.test(name))
				.sort(),
			["ringback.db", "ringback.db.key"],
		);
		const outside = await image
			.run([settings.executable, "backup", "/one.backup", "--without-key"], own)
			.ended();
		equal(outside.code, 1);
		match(outside.stderr, /read-only/);
		running.kill("SIGTERM");
		await running.said(/unready|not ready|draining/i);
		equal((await check()).code, 0, "it is stopping, so it is not ready, but alive");
		running.kill("SIGSTOP");
		match((await check()).stderr, /no answer in time/);
		running.kill("SIGCONT");
		// A second signal of this kind ends the process without waiting for the drain.
		running.kill("SIGINT");
		equal((await running.ended()).signal, "SIGINT");
	});

	const confine = skip === false ? findWayToConfine() : null;
	const skipBare = confine !== null ? false : sayNotConfined();
	test(
		"the executable takes a newcomer to a verified callback with nothing of the system but its C library",
		{ skip: skipBare },
		(t) => walk(t, openBareMachine(t, executable, confine ?? [])),
	);
});

async function startNetwork(t: TestContext, home: ExecutableHome) {
	const shop = await startShop();
	t.after(() => shop.close());
	const running = home.start(["serve"], { PORT: "0", ...trust(home, shop) });
	const [, url = ""] = await running.said(/^Ringback listens on (\S+)$/m);
	const [, link = ""] = await running.said(/^(http:\S+\/welcome\/[0-9a-f]{64})$/m);
	equal((await fetch(`${url}/readyz`)).status, 200);
	const credentials = await makeNetwork(url, link, shop);
	return { running, url, shop, credentials };
}

function trust(home: ExecutableHome, { caPem }: Shop) {
	return {
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		RINGBACK_TRUSTED_CA: home.write("ca.pem", caPem),
	};
}

async function walk(t: TestContext, home: ExecutableHome): Promise<void> {
	const { running, url, shop, credentials } = await startNetwork(t, home);
	await checkFiles(url);
	await reportSale(url, credentials, shop, "ORDER-1");
	running.kill("SIGTERM");
	const ended = await running.ended();
	equal(ended.code, 0, ended.stderr);
	match(ended.stdout, /^Stopped\.$/m);
	doesNotMatch(ended.stdout, /npm/, "there is no npm here");
	doesNotMatch(ended.stderr, /Warning|"level":50/);
}

function said(stdout: string) {
	return { code: 0, signal: null, stdout, stderr: "" };
}
