// Runs the command of an image's Containerfile without a container engine: as the image's user, on a
// read-only root with nothing but the executable and its libraries, and with the image's volume.

import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { endProcess, type Running, watchProcess } from "../support/watched-process.ts";
import type { ImageSettings } from "./containerfile.ts";
import { putExecutable, putLibraries } from "./executable-home.ts";

export interface ReadOnlyImage {
	/** Content of the volume, as the test sees it. */
	data: string;
	run(command: readonly string[], settings?: Readonly<Record<string, string>>): Running;
}

/**
 * Shell script that confines the command. $1 is the root, $2 the volume as the test sees it, $3 the volume as
 * the image sees it, $4 user:group. chroot starts in the root, as the image does.
 */
const CONFINE = `set -e
mount --bind "$1" "$1"
mount --bind "$2" "$1$3"
mount -o remount,bind,ro "$1"
root=$1 user=$4
shift 4
exec setpriv --no-new-privs --inh-caps=-all chroot --userspec="$user" --groups= "$root" "$@"`;

/** Returns the reason why this machine cannot run an image's command in this way, or null if it can. */
export function findImageHindrance(): string | null {
	if (process.getuid?.() === 0) return null;
	return "The image's command was not run as its user on a read-only root: that needs root.";
}

export function openReadOnlyImage(t: TestContext, executable: string, image: ImageSettings): ReadOnlyImage {
	const folder = mkdtempSync(join(tmpdir(), "ringback-image-"));
	const [root, data] = [join(folder, "root"), join(folder, "data")];
	mkdirSync(join(root, image.volume), { recursive: true });
	mkdirSync(join(root, image.executable, ".."), { recursive: true });
	putLibraries(executable, root);
	putExecutable(executable, join(root, image.executable));
	mkdirSync(data, { mode: 0o700 });
	const [uid = "", gid = ""] = image.user.split(":");
	chownSync(data, Number(uid), Number(gid));
	const children: ChildProcess[] = [];
	t.after(async () => {
		await Promise.all(children.map(endProcess));
		rmSync(folder, { recursive: true, force: true });
	});
	return {
		data,
		run(command, settings = {}) {
			const words = [root, data, image.volume, image.user, ...command];
			const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", ...image.environment, ...settings };
			const child = spawn("unshare", ["--mount", "sh", "-c", CONFINE, "image", ...words], { cwd: "/", env });
			children.push(child);
			return watchProcess(child);
		},
	};
}
