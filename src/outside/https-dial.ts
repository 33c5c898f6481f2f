// Opens TLS connections to addresses that were judged before, and to nothing else: no name is looked up here.

import { constants } from "node:crypto";
import { connect, createSecureContext, getCACertificates, type TLSSocket } from "node:tls";
import type { PostbackUrl } from "../domain/postback-url.ts";
import { readErrorCode } from "./error-code.ts";
import type { Route } from "./https-target.ts";

export interface DialObserver {
	/** TCP stands, the handshake begins. */
	onConnect(): void;
	onSecure(socket: TLSSocket, route: Route): void;
	/** In place of `onSecure`, with the last address's error. */
	onFailure(code: string): void;
}

export type Dial = (
	url: PostbackUrl,
	routes: readonly Route[],
	leftMs: number,
	observer: DialObserver,
) => Cancel;

/** After this the observer hears nothing more. */
export type Cancel = () => void;

/** With 5 s the first address gets 1.25 s, which holds one repeated SYN (after 1 s, RFC 6298). */
const MAX_SHARES = 4;

export function createDial(trustedCa: string | undefined): Dial {
	const secureContext = createSecureContext({
		minVersion: "TLSv1.2",
		// With TLS 1.2 a shop could have us shake hands 3,000 times a second for the whole of each attempt.
		secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
		// Setting `ca` replaces the default roots, so they are listed again; unset, Node shares one parsed store.
		...(trustedCa === undefined ? {} : { ca: [...getCACertificates("default"), trustedCa] }),
	});

	/** By its address, so that no name is looked up a second time. */
	function open(url: PostbackUrl, address: string): TLSSocket {
		const socket = connect({
			host: address,
			port: url.port,
			secureContext,
			// Without a server name the certificate is checked against `host`, the address itself.
			...(url.isLiteral ? {} : { servername: url.hostname }),
			ALPNProtocols: ["http/1.1"],
			// The default, unless NODE_TLS_REJECT_UNAUTHORIZED is in the environment.
			rejectUnauthorized: true,
		});
		socket.setNoDelay(true);
		return socket;
	}

	// One address after the other. Only a failure to connect moves on to the next: once TCP stands it is the
	// right host, and its TLS would fail at every address.
	return (url, routes, leftMs, observer) => {
		const endMs = performance.now() + leftMs;
		let leavePresent: Cancel = () => undefined;

		function tryRoute(index: number, lastCode: string): void {
			const route = routes[index];
			if (route === undefined) return void observer.onFailure(lastCode);
			const socket = open(url, route.address);
			let isConnected = false;
			let isOver = false;
			let share: NodeJS.Timeout | undefined;
			const leave = () => {
				isOver = true;
				clearTimeout(share);
				socket.destroy();
			};
			const fail = (code: string) => {
				if (isOver) return;
				leave();
				tryRoute(isConnected ? routes.length : index + 1, code);
			};
			// Stays for the socket's whole life: an error that nobody hears would end the process.
			socket.on("error", (error) => fail(readErrorCode(error)));
			socket.once("close", () => fail("ECONNRESET"));
			socket.once("connect", () => {
				if (isOver) return;
				isConnected = true;
				clearTimeout(share);
				observer.onConnect();
			});
			socket.once("secureConnect", () => {
				if (isOver) return;
				isOver = true;
				observer.onSecure(socket, route);
			});
			// A black-holed address must leave time for those behind it; the last one has all that is left.
			const ahead = routes.length - index;
			if (ahead > 1) {
				const shareMs = (endMs - performance.now()) / Math.min(ahead, MAX_SHARES);
				// After one poll phase: when this process has stalled, the connection may stand and nobody has looked.
				const giveUp = () => {
					if (!isConnected) fail("ETIMEDOUT");
				};
				share = setTimeout(() => setImmediate(giveUp), shareMs);
			}
			leavePresent = leave;
		}

		tryRoute(0, "ENOTFOUND");
		return () => leavePresent();
	};
}
