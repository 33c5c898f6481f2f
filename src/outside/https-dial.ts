// Opens TLS connections to addresses that have already been checked. It looks up no names.

import { constants } from "node:crypto";
import {
	connect,
	createSecureContext,
	getCACertificates,
	type SecureContext,
	type TLSSocket,
} from "node:tls";
import type { PostbackUrl } from "#core/domain/postback-url.ts";
import { readErrorCode } from "./error-code.ts";
import type { Route } from "./https-target.ts";

export interface DialObserver {
	/** Called when the TCP connection is open and the TLS handshake begins. */
	onConnect(): void;
	onSecure(socket: TLSSocket, route: Route): void;
	/** Called instead of `onSecure`, with the error of the last address that was tried. */
	onFailure(code: string): void;
}

export type Dial = (
	url: PostbackUrl,
	routes: readonly Route[],
	leftMs: number,
	observer: DialObserver,
) => Cancel;

/** Cancels the dial. The observer is not called afterwards. */
export type Cancel = () => void;

/**
 * Maximum number of parts into which the remaining time is divided. The first address gets 1.25 s of 5 s,
 * which is enough to repeat a lost SYN once (after 1 s, RFC 6298).
 */
const MAX_SHARES = 4;

let lastContext: { trustedCa: string | undefined; context: SecureContext } | undefined;

/** Returns a context that trusts `trustedCa` as well. The last one is reused, because a new one takes 40 ms. */
function contextOf(trustedCa: string | undefined): SecureContext {
	if (lastContext !== undefined && lastContext.trustedCa === trustedCa) return lastContext.context;
	const context = createSecureContext({
		minVersion: "TLSv1.2",
		// Without this option, a shop with TLS 1.2 could make us renegotiate 3,000 times a second during each
		// attempt.
		secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
		// `ca` replaces the default root certificates, so they are listed again.
		...(trustedCa === undefined ? {} : { ca: [...getCACertificates("default"), trustedCa] }),
	});
	lastContext = { trustedCa, context };
	return context;
}

export function createDial(trustedCa: string | undefined): Dial {
	const secureContext = contextOf(trustedCa);

	/** Connects to the checked address, so that the name is not looked up a second time. */
	function open(url: PostbackUrl, address: string): TLSSocket {
		const socket = connect({
			host: address,
			port: url.port,
			secureContext,
			// For a literal address no server name is sent. The certificate is then checked against `host`, which
			// is the address.
			...(url.isLiteral ? {} : { servername: url.hostname }),
			ALPNProtocols: ["http/1.1"],
			// This is the default. It is set, because NODE_TLS_REJECT_UNAUTHORIZED in the environment could change
			// the default.
			rejectUnauthorized: true,
		});
		socket.setNoDelay(true);
		return socket;
	}

	// Tries one address after the other. Only a failure to connect leads to the next address. Once TCP is open,
	// the host is the right one, and a TLS failure would occur at its other addresses, too.
	return (url, routes, leftMs, observer) => {
		const endMs = performance.now() + leftMs;
		let leavePresent: Cancel = () => undefined;

		function tryRoute(index: number, lastCode: string): void {
			const route = routes[index];
			if (route === undefined) {
				observer.onFailure(lastCode);
				return;
			}
			let socket: TLSSocket;
			try {
				socket = open(url, route.address);
			} catch (error) {
				tryRoute(index + 1, readErrorCode(error));
				return;
			}
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
			// This listener stays for the socket's whole life, because an unhandled error would end the process.
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
			// An address that never answers must leave time for the others. The last address gets all the remaining
			// time.
			const ahead = routes.length - index;
			if (ahead > 1) {
				const shareMs = (endMs - performance.now()) / Math.min(ahead, MAX_SHARES);
				// The timeout waits for one poll phase. If this process stalled, the connection may be open without
				// having been noticed.
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
