// Notifies systemd that the service is ready and, if systemd wants it, that the service is alive. systemd
// listens on a datagram socket, which Node does not support. So the program `systemd-notify` sends the
// messages, which the unit must allow (NotifyAccess=all). This starts a short process three times per
// watchdog interval.

import { execFile } from "node:child_process";
import type { ServiceManager } from "#core/domain/process.ts";
import type { Log } from "#core/ports.ts";

const PROGRAM = "/usr/bin/systemd-notify";
/** Interval of the messages as a share of the watchdog's time. With a third, one late or lost message does no harm. */
const WATCHDOG_SHARE = 1 / 3;

export function tellServiceManager({ socket, watchdogMs }: ServiceManager, log: Log): void {
	const tell = (state: string): void => {
		// The program gets only this variable, because the environment of the service contains secrets.
		execFile(PROGRAM, [state], { env: { NOTIFY_SOCKET: socket } }, (error) => {
			if (error !== null) log.error({ err: error, state }, "systemd could not be told how the service is");
		});
	};
	tell("READY=1");
	// The timer runs on the event loop, so that a stalled loop sends nothing. It is unreferenced, so that it
	// does not keep a finished process alive.
	if (watchdogMs !== null) setInterval(() => tell("WATCHDOG=1"), watchdogMs * WATCHDOG_SHARE).unref();
}
