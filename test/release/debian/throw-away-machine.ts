// A view of the installed Debian whose changes are discarded, made with an overlay in its own mount
// namespace. dpkg can run there without affecting the machine. No systemd runs there.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Ended, type Running, watchProcess } from "../../support/watched-process.ts";

/**
 * Folder for the overlay, in memory, because an overlay cannot be stored on the file system that it covers.
 */
const WRITTEN_TO = "/dev/shm";

/** Packages that ours depends on and a plain Debian may lack, because dpkg downloads nothing. */
const NEEDED = ["adduser", "init-system-helpers", "libatomic1", "libstdc++6"];

export interface ThrowAwayMachine {
	/** Runs a shell command as root. */
	run(command: string): Promise<Ended>;
	start(command: string): Running;
	close(): void;
}

/** Returns the reason why such a machine cannot be opened here, or null. */
export function findHindrance(): string | null {
	if (process.platform !== "linux" || process.getuid?.() !== 0) return "that needs Linux and root";
	if (spawnSync("dpkg-deb", ["--version"]).status !== 0) return "that needs a Debian";
	if (spawnSync("dpkg-query", ["--show", ...NEEDED]).status !== 0) return `that needs ${NEEDED.join(", ")}`;
	const machine = openThrowAwayMachine();
	const tried = spawnSync("unshare", machine.enter("true"));
	machine.close();
	return tried.status === 0 ? null : `an overlay cannot be mounted here (${String(tried.stderr).trim()})`;
}

/** Opens the machine. It sees the folder `shared` under the same path. */
export function openThrowAwayMachine(
	shared = "/tmp",
): ThrowAwayMachine & { enter(command: string): string[] } {
	const folder = mkdtempSync(join(WRITTEN_TO, "ringback-machine-"));
	for (const name of ["upper", "work", "root"]) mkdirSync(join(folder, name));
	const script = [
		"set -e",
		`mount -t overlay overlay -o lowerdir=/,upperdir=${folder}/upper,workdir=${folder}/work ${folder}/root`,
		`mount --rbind /dev ${folder}/root/dev`,
		`mount -t proc proc ${folder}/root/proc`,
		`mkdir -p ${folder}/root${shared}`,
		`mount --bind ${shared} ${folder}/root${shared}`,
		`exec chroot ${folder}/root sh -c "$1"`,
	].join("\n");
	const enter = (command: string): string[] => ["--mount", "sh", "-c", script, "sh", command];
	const start = (command: string): Running =>
		watchProcess(
			spawn("unshare", enter(command), {
				cwd: "/",
				env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
			}),
		);
	return {
		enter,
		start,
		run: (command) => start(command).ended(),
		close: () => rmSync(folder, { recursive: true, force: true }),
	};
}
