// Provides a disk that can be filled and emptied while a service runs on it. If mounting is allowed, the disk is a
// small file system. Otherwise the system's limit on the size of a file is used, which has the same effect however
// much disk space is free.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export const DISK_WAYS = ["small file system", "file size limit"] as const;
export type DiskWay = (typeof DISK_WAYS)[number];

export interface FullableDisk {
	readonly way: DiskWay;
	/** Folder for the database. */
	readonly folder: string;
	/** Makes every further write of these processes fail. */
	fill(pids: readonly number[]): Promise<void>;
	makeRoom(pids: readonly number[]): Promise<void>;
	remove(): Promise<void>;
}

/** Size in megabytes. The database of a round needs less than one megabyte, and the test fills the rest. */
const DISK_MEGABYTES = 8;
/**
 * Block with which the disk is filled. Its size is a memory page, because the file system allocates whole
 * pages.
 */
const BALLAST_BLOCK = Buffer.alloc(4_096);
/**
 * Shell script that mounts the file system and unmounts it at the end. If the script may not mount, it exits at once,
 * so that its parent does not wait for a message that never comes.
 */
const KEEPER = [
	'mount -t tmpfs -o "size=$2m" tmpfs "$1" || { rmdir "$1"; exit 1; }',
	"echo mounted",
	'trap "" INT TERM HUP',
	"cat > /dev/null",
	'umount -l "$1"',
	'rmdir "$1"',
].join("; ");
const run = promisify(execFile);

/**
 * Returns the ways that work on this machine. Mounting needs more rights than root has in some containers,
 * and only Linux can limit the file size of a running process.
 */
export async function findDiskWays(): Promise<readonly DiskWay[]> {
	const ways: DiskWay[] = [];
	if (process.platform === "linux" && process.getuid?.() === 0 && (await works(tryMount)))
		ways.push("small file system");
	if (await works(() => run("prlimit", ["--version"]))) ways.push("file size limit");
	return ways;
}

/** Tries to mount a file system, because only a try shows whether root may mount in this container. */
async function tryMount(): Promise<void> {
	const disk = await openSmallFileSystem();
	await disk.remove();
}

function works(attempt: () => Promise<unknown>): Promise<boolean> {
	return attempt().then(
		() => true,
		() => false,
	);
}

/** Opens a disk. `home` is a folder that is removed after the round. */
export async function openDisk(way: DiskWay, home: string): Promise<FullableDisk> {
	switch (way) {
		case "small file system":
			return openSmallFileSystem();
		case "file size limit":
			return openLimitedFolder(home);
		default:
			return way satisfies never;
	}
}

async function openSmallFileSystem(): Promise<FullableDisk> {
	const folder = mkdtempSync(join(tmpdir(), "ringback-disk-"));
	// The shell reads a pipe that only this process holds. When the pipe closes, even because this process was
	// killed, the shell unmounts the file system.
	const keeper = spawn("/bin/sh", ["-c", KEEPER, "keeper", folder, String(DISK_MEGABYTES)], {
		stdio: ["pipe", "pipe", "pipe"],
		detached: true,
	});
	let complaints = "";
	keeper.stderr.setEncoding("utf8").on("data", (text: string) => {
		complaints += text;
	});
	const gone = once(keeper, "exit");
	const [said] = await Promise.race([once(keeper.stdout, "data"), gone]);
	if (!Buffer.isBuffer(said)) throw new Error(`a small file system could not be mounted: ${complaints}`);
	const ballast = join(folder, "ballast");
	return {
		way: "small file system",
		folder,
		async fill() {
			writeUntilFull(ballast);
		},
		async makeRoom() {
			rmSync(ballast);
		},
		async remove() {
			keeper.stdin.end();
			const [code] = await gone;
			if (code !== 0)
				throw new Error(`the small file system at ${folder} could not be taken away: ${complaints}`);
		},
	};
}

function writeUntilFull(path: string): void {
	const file = openSync(path, "w");
	try {
		for (;;) writeSync(file, BALLAST_BLOCK);
	} catch (error) {
		if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
	} finally {
		closeSync(file);
	}
}

async function openLimitedFolder(home: string): Promise<FullableDisk> {
	// Only the soft limit changes, so that the processes can raise it again.
	const limit = async (pids: readonly number[], bytes: string) => {
		for (const pid of pids) await run("prlimit", [`--pid=${pid}`, `--fsize=${bytes}:`]);
	};
	return {
		way: "file size limit",
		folder: home,
		fill: (pids) => limit(pids, "1"),
		makeRoom: (pids) => limit(pids, "unlimited"),
		async remove() {
			// Nothing is removed here, because the folder is removed together with `home`.
		},
	};
}
