// Tells systemd that the service is ready and, where it asks, that it is alive. It listens on a datagram socket, of which
// Node has none; so its own program `systemd-notify` does the talking, and the unit allows that (NotifyAccess=all): a
// short process three times in a watchdog's minute.

import { execFile } from "node:child_process";
import type { ServiceManager } from "../domain/process.ts";
import type { Log } from "../ports.ts";

const PROGRAM = "/usr/bin/systemd-notify";
/** Of the time it gives us: one that is late, or lost, does no harm. */
const WATCHDOG_SHARE = 1 / 3;

export function tellServiceManager({ socket, watchdogMs }: ServiceManager, log: Log): void {
	const tell = (state: string): void => {
		// Nothing else of our environment, where secrets are.
		execFile(PROGRAM, [state], { env: { NOTIFY_SOCKET: socket } }, (error) => {
			if (error !== null) log.error({ err: error, state }, "systemd could not be told how the service is");
		});
	};
	tell("READY=1");
	// From the event loop, so that one that stands still is told by silence. It keeps no process that is done.
	if (watchdogMs !== null) setInterval(() => tell("WATCHDOG=1"), watchdogMs * WATCHDOG_SHARE).unref();
}
