// A guard between the process and the network. It records every dialled address and only lets through those that the
// test names, so that a public address can be dialled without a packet leaving this machine.

import { createHook } from "node:async_hooks";
import { isIP, Socket } from "node:net";

export interface Dial {
	/** Host as passed to the dial. Anything but an address would mean that a name is looked up a second time. */
	host: string;
	port: number;
}

export interface DialGuard extends Disposable {
	/** All dials in their order, including those that were stopped. */
	readonly dials: readonly Dial[];
	/** Connections that the system itself was asked for, counted below all JavaScript. */
	readonly systemConnects: number;
}

/** Error of a stopped dial. */
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

/** The three forms of arguments: options, port and host, and node:net's internal list of either. */
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
