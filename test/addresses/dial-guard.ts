// A guard between the process and the network. It records every dialled address and lets only those through
// that the test names. A test can therefore dial a public address, and no packet leaves this machine.

import { createHook } from "node:async_hooks";
import { isIP, Socket } from "node:net";

export interface Dial {
	/**
	 * The host that the caller dials. If it is not an IP address, the name would be looked up a second time.
	 */
	host: string;
	port: number;
}

export interface DialGuard extends Disposable {
	/** All dials in their order, including those that the guard stopped. */
	readonly dials: readonly Dial[];
	/**
	 * Number of connections that Node requested from the operating system, counted below all JavaScript code.
	 */
	readonly systemConnects: number;
}

/** Error code of a dial that the guard stopped. */
export const STOPPED = "STOPPED_BY_TEST";

export function guardDials(mayPass: (dial: Dial) => boolean): DialGuard {
	const dials: Dial[] = [];
	let systemConnects = 0;
	const hook = createHook({
		init(_id, type) {
			if (type === "TCPCONNECTWRAP" || type === "PIPECONNECTWRAP") systemConnects += 1;
		},
	}).enable();
	const { connect } = Socket.prototype;
	// Every connection of Node begins here, including those of tls, http, undici and pg.
	Socket.prototype.connect = function guarded(this: Socket, ...args: unknown[]): Socket {
		const dial = readDial(args);
		dials.push(dial);
		if (isIP(dial.host) !== 0 && mayPass(dial)) return Reflect.apply(connect, this, args);
		const error = Object.assign(new Error(`${dial.host} was stopped`), { code: STOPPED });
		process.nextTick(() => this.destroy(error));
		return this;
	};
	return {
		dials,
		get systemConnects() {
			return systemConnects;
		},
		[Symbol.dispose]() {
			Socket.prototype.connect = connect;
			hook.disable();
		},
	};
}

/**
 * Reads the arguments of `connect`, which have three forms: options, port and host, and the internal list of
 * node:net, which contains one of the others.
 */
function readDial([first, second]: readonly unknown[]): Dial {
	if (Array.isArray(first)) return readDial(first);
	if (typeof first === "object" && first !== null && "port" in first) {
		const host = "host" in first ? first.host : undefined;
		return { host: String(host ?? "localhost"), port: Number(first.port) };
	}
	if (typeof first === "number")
		return { host: typeof second === "string" ? second : "localhost", port: first };
	return { host: "not a network address", port: 0 };
}
