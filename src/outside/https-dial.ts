// Opens TLS connections to addresses that were judged before, and to nothing else: Node's own look-up never runs, and its
// "happy eyeballs" go through the judged ones, one after the other.

import { constants } from "node:crypto";
import { isIP, type TcpSocketConnectOpts } from "node:net";
import {
	type ConnectionOptions,
	connect,
	createSecureContext,
	getCACertificates,
	type TLSSocket,
} from "node:tls";
import type { PostbackUrl } from "../domain/postback-url.ts";
import { readErrorCode } from "./error-code.ts";
import type { Route } from "./https-target.ts";

export interface DialObserver {
	/** TCP stands, the handshake begins. */
	onConnect(): void;
	/** With the address that it leads to. */
	onSecure(socket: TLSSocket, address: string): void;
	/** In place of `onSecure`, with the first address's error. */
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

/**
 * A black-holed address must leave time for those behind it; the last one has all that is left. With 5 s an address gets
 * 1.25 s, which holds one repeated SYN (after 1 s, RFC 6298).
 */
const SHARES = 4;

export function createDial(trustedCa: string | undefined): Dial {
	const secureContext = createSecureContext({
		minVersion: "TLSv1.2",
		// With TLS 1.2 a shop could have us shake hands 3,000 times a second for the whole of each attempt.
		secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
		// Setting `ca` replaces the default roots, so they are listed again; unset, Node shares one parsed store.
		...(trustedCa === undefined ? {} : { ca: [...getCACertificates("default"), trustedCa] }),
	});
	return (url, routes, leftMs, observer) => {
		const judged = routes.map(({ address }) => ({ address, family: isIP(address) }));
		const options: ConnectionOptions & TcpSocketConnectOpts = {
			// A literal is not looked up at all: it is the one address that was judged.
			host: url.hostname,
			port: url.port,
			lookup: (_host, _options, found) => found(null, judged),
			autoSelectFamily: true,
			autoSelectFamilyAttemptTimeout: Math.max(1, Math.ceil(leftMs / SHARES)),
			secureContext,
			// Without a server name the certificate is checked against `host`, the address itself.
			...(url.isLiteral ? {} : { servername: url.hostname }),
			ALPNProtocols: ["http/1.1"],
			// The default, unless NODE_TLS_REJECT_UNAUTHORIZED is in the environment.
			rejectUnauthorized: true,
		};
		const socket = connect(options);
		let isOver = false;
		const leave = (): void => {
			isOver = true;
			socket.destroy();
		};
		const fail = (code: string): void => {
			if (isOver) return;
			leave();
			observer.onFailure(code);
		};
		// Stays for the socket's whole life: an error that nobody hears would end the process.
		socket.on("error", (error) => fail(readErrorCode(error)));
		socket.once("close", () => fail("ECONNRESET"));
		socket.once("connect", () => {
			socket.setNoDelay(true);
			if (!isOver) observer.onConnect();
		});
		socket.once("secureConnect", () => {
			if (isOver) return;
			isOver = true;
			observer.onSecure(socket, socket.remoteAddress ?? "");
		});
		return leave;
	};
}
