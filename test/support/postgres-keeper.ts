// Whatever happens to the process that started a test server, the server stops and its folders go. A shell
// waits at the end of a pipe that only we hold, and the system closes that even when we are killed.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";

const KEEPER = `
	trap "" INT TERM HUP
	cat > /dev/null
	pid_file="$1/data/postmaster.pid"
	if pid=$(head -n 1 "$pid_file" 2> /dev/null); then
		kill -QUIT "$pid"
		for i in 1 2 3 4 5 6 7 8 9 10; do [ -e "$pid_file" ] && sleep 0.2; done
	fi
	rm -rf "$@"`;

/** Before anything is put into the folders. The server's data will be in `data` below the first. */
export function startKeeper(home: string, ...others: readonly string[]): ChildProcess {
	// Detached: Ctrl-C in the terminal goes to the tests, and must not end their keeper first.
	const keeper = spawn("/bin/sh", ["-c", KEEPER, "keeper", home, ...others], {
		stdio: ["pipe", "ignore", "ignore"],
		detached: true,
	});
	keeper.unref();
	if (keeper.stdin instanceof Socket) keeper.stdin.unref();
	return keeper;
}

/** Stops the server, if it runs, and removes the folders. */
export async function releaseKeeper(keeper: ChildProcess): Promise<void> {
	keeper.ref();
	const gone = once(keeper, "exit");
	keeper.stdin?.end();
	await gone;
}
