// Stands between the process and the network: it writes down every address that is dialled and lets only
// those through that the test names. So an address that must pass can be dialled without a packet leaving
// this machine, and one that must not is seen even where nobody could listen. Where one can, canaries do: one
// connection to any of them is a broken promise.

import { createHook } from "node:async_hooks";
import { once } from "node:events";
import { createServer, isIP, type Server, Socket } from "node:net";
import { readErrorCode } from "../../src/outside/error-code.ts";
import { readAddress } from "../support/address-number.ts";

export interface Dial {
	/** As it was given: anything but an address would mean that a name is looked up a second time. */
	host: string;
	port: number;
}

export interface DialGuard {
	/** All of them, in their order, those that were stopped included. */
	readonly dials: readonly Dial[];
	/** What the system itself was asked to connect to, counted where no JavaScript is in between. */
	readonly systemConnects: number;
	remove(): void;
}

/** The first 96 bits of an IPv4-mapped address: the kernel dials the IPv4 address inside. */
const MAPPED = 0xffffn;
const LOOPBACK_BYTE = 127n;

/** What a stopped dial fails with. */
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
	// Every connection of Node begins here: those of tls, http, undici and pg too.
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
		remove() {
			Socket.prototype.connect = connect;
			hook.disable();
		},
	};
}

/** Whatever leads to this machine itself: a dial to it that is let through is heard by a canary. */
export function isThisMachine({ host }: Dial): boolean {
	const { family, value } = readAddress(host);
	if (family === 6 && value >> 32n !== MAPPED) return value <= 1n;
	const ipv4 = value & 0xffff_ffffn;
	return ipv4 === 0n || ipv4 >> 24n === LOOPBACK_BYTE;
}

/** The three ways to call it: options, port and host, and node:net's own list with either in it. */
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

export interface Canary {
	readonly address: string;
	readonly port: number;
	/** Connections accepted. */
	readonly calls: number;
}

export interface Canaries {
	readonly all: readonly Canary[];
	/** Undefined where this machine does not have the address. Zero: whatever port is free. */
	listen(address: string, port?: number): Promise<Canary | undefined>;
	close(): Promise<void>;
}

/** Some systems have 127.0.0.1 alone of its network, some have no IPv6, and broadcast is nowhere one's own. */
const NOT_OURS = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL", "EACCES"]);

export function openCanaries(): Canaries {
	const servers: Server[] = [];
	const all: Canary[] = [];
	return {
		all,
		async listen(address, port = 0) {
			let calls = 0;
			const server = createServer((socket) => {
				calls += 1;
				socket.destroy();
			});
			try {
				server.listen({ host: address, port, exclusive: true });
				await once(server, "listening");
			} catch (error) {
				if (NOT_OURS.has(readErrorCode(error))) return undefined;
				throw error;
			}
			servers.push(server);
			const bound = server.address();
			if (bound === null || typeof bound === "string") throw new Error(`${address} gave no port`);
			const canary: Canary = {
				address,
				port: bound.port,
				get calls() {
					return calls;
				},
			};
			all.push(canary);
			return canary;
		},
		async close() {
			await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
		},
	};
}
