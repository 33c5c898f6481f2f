// `npm run test:container` builds the image of ops/container with Buildah and runs its service and health check. It needs
// no container engine and no registry. Its base is a Debian that debootstrap downloads and that gets the name of the
// Containerfile's base.

import { equal, match, ok } from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { buildRelease, executableName } from "../../../release/build.ts";
import { ARCHITECTURES } from "../../../release/node-package.ts";
import { noteNotRun } from "../../support/not-run.ts";
import { freePort } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { watchProcess } from "../../support/watched-process.ts";
import { CONTAINERFILE, readContainerfile } from "../containerfile.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const MEGABYTE = 1_000_000;
const MAX_IMAGE_BYTES = 350 * MEGABYTE;
const SUITE = "trixie";
/** Files that the slim images of Debian leave out. */
const NOT_IN_SLIM = ["usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale"];
const arch = ARCHITECTURES.find((each) => each === process.arch) ?? "x64";
const hindrance = findHindrance();

describe("the container image", { skip: hindrance !== null && leaveOut(hindrance) }, () => {
	const folder = mkdtempSync(join(tmpdir(), "ringback-image-"));
	const context = join(folder, "context");
	const storage = [
		"--root",
		join(folder, "storage"),
		"--runroot",
		join(folder, "run"),
		"--storage-driver",
		"vfs",
	];
	const image = readContainerfile();

	async function buildah(...args: readonly string[]): Promise<string> {
		const { stdout } = await promisify(execFile)("buildah", [...storage, ...args], {
			maxBuffer: 64 * MEGABYTE,
		});
		return stdout.trim();
	}

	/** Arguments that run a command in the container as the image's user. */
	const inContainer = (
		name: string,
		settings: Readonly<Record<string, string>>,
		command: readonly string[],
	) => [
		...storage,
		"run",
		"--isolation",
		"chroot",
		...Object.entries(settings).flatMap(([key, value]) => ["--env", `${key}=${value}`]),
		name,
		"--",
		...command,
	];

	before(async () => {
		mkdirSync(context);
		await buildRelease({
			root: ROOT,
			folder,
			architectures: [arch],
			withDebianPackages: false,
			progress: () => undefined,
		});
		copyFileSync(join(folder, executableName(arch)), join(context, "ringback"));
		await makeBase();
		await buildah(
			...["bud", "--isolation", "chroot", "--format", "docker", "--pull-never"],
			...["--file", fileURLToPath(CONTAINERFILE), "--tag", "ringback", context],
		);
	});
	after(() => rmSync(folder, { recursive: true, force: true }));

	async function makeBase(): Promise<void> {
		const base = join(folder, "base");
		await promisify(execFile)("debootstrap", ["--variant=minbase", SUITE, base], {
			maxBuffer: 64 * MEGABYTE,
		});
		for (const path of [...NOT_IN_SLIM, "var/cache/apt", "var/lib/apt/lists"]) {
			rmSync(join(base, path), { recursive: true, force: true });
		}
		const container = await buildah("from", "scratch");
		await buildah("add", "--quiet", container, base, "/");
		const [, name = ""] = /^FROM (\S+)$/m.exec(readFileSync(CONTAINERFILE, "utf8")) ?? [];
		await buildah("commit", "--quiet", "--rm", container, name);
	}

	test("the container image is smaller than 350 MB", async (t) => {
		const inspected: unknown = JSON.parse(await buildah("images", "--json", "ringback"));
		const [found] = inspected as [{ size: string }];
		const [, number = "", unit = ""] = /^([\d.]+) ?(\w+)$/.exec(found.size) ?? [];
		const bytes = Number(number) * (unit === "GB" ? 1_000 * MEGABYTE : MEGABYTE);
		t.diagnostic(`the image has ${found.size}`);
		ok(bytes > 0 && bytes < MAX_IMAGE_BYTES, found.size);
	});

	test("the container becomes ready as its own user, its health check agrees, and it stops when it is asked", async (t) => {
		const name = await buildah("from", "--pull-never", "ringback");
		const [uid = "", gid = ""] = image.user.split(":");
		const seen = await promisify(execFile)("buildah", inContainer(name, {}, ["id"]));
		match(seen.stdout, new RegExp(`^uid=${uid}\\b.* gid=${gid}\\b`));
		// The container uses this machine's network, so it needs a free port.
		const settings = { PORT: String(await freePort()), RINGBACK_METRICS_ADDRESS: "off" };
		const running = watchProcess(spawn("buildah", inContainer(name, settings, image.command)));
		t.after(() => running.kill("SIGKILL"));
		const health = () => spawnSync("buildah", inContainer(name, settings, image.healthCheck));
		const startedAtMs = performance.now();
		await until(() => health().status === 0);
		t.diagnostic(`it was ready after ${Math.round(performance.now() - startedAtMs)} ms`);
		equal((await fetch(`http://127.0.0.1:${settings.PORT}/readyz`)).status, 200);
		const files = await promisify(execFile)(
			"buildah",
			inContainer(name, {}, ["ls", "-ln", `${image.volume}`]),
		);
		match(files.stdout, new RegExp(` ${uid} +${gid} .*`), "its database belongs to its user");
		running.kill("SIGTERM");
		await running.ended();
		equal(health().status, 1);
	});
});

/** Returns the reason why this machine cannot build or run the image, or null. */
function findHindrance(): string | null {
	if (process.platform !== "linux" || process.getuid?.() !== 0) return "that needs Linux and root";
	const missing = ["buildah", "debootstrap"].filter(
		(name) => spawnSync(name, ["--version"]).error !== undefined,
	);
	return missing.length === 0 ? null : `that needs ${missing.join(" and ")} (Debian: apt-get install)`;
}

function leaveOut(why: string): string {
	const reason = `The container image was not built: ${why}.`;
	noteNotRun(reason);
	return reason;
}
