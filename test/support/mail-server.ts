// Provides a real SMTP server for tests. The server stores the mails that it accepts, can stop and start again on the
// same port, can answer slowly, and can reject single recipients.

import { once } from "node:events";
import type { Socket } from "node:net";
import { SMTPServer } from "smtp-server";
import { portOf } from "./port-of.ts";

export interface ReceivedMail {
	/** Recipients on the envelope, to whom the mail is really delivered. */
	to: readonly string[];
	headers: ReadonlyMap<string, string>;
	text: string;
	/** Time of arrival, on the test's clock. */
	atMs: number;
}

export interface MailServer {
	url: string;
	readonly mails: readonly ReceivedMail[];
	/** Mails that were received and wait for an answer while `holds` is true. */
	readonly held: readonly (() => void)[];
	holds: boolean;
	/** Recipients that the server rejects as unknown. */
	readonly unknown: Set<string>;
	/** Recipients that the server rejects temporarily. */
	readonly deferred: Set<string>;
	/** Recipients at which the server breaks the connection. */
	readonly breaking: Set<string>;
	goAway(): Promise<void>;
	comeBack(): Promise<void>;
}

/** Starts the server. If `login` is given, clients must sign in with that login. */
export async function startMailServer(
	nowMs: () => number,
	login?: { username: string; password: string },
): Promise<MailServer> {
	const mails: ReceivedMail[] = [];
	const held: (() => void)[] = [];
	const sockets = new Map<number | undefined, Socket>();
	let present: SMTPServer | null = null;

	async function open(port: number): Promise<number> {
		const smtp = new SMTPServer({
			disabledCommands: login === undefined ? ["AUTH", "STARTTLS"] : ["STARTTLS"],
			onAuth({ username, password }, _session, answer) {
				const isKnown = username === login?.username && password === login?.password;
				answer(isKnown ? null : new Error("not you"), { user: username });
			},
			onRcptTo({ address }, { remotePort }, answer) {
				if (server.breaking.has(address)) sockets.get(remotePort)?.destroy();
				else if (server.deferred.has(address)) answer(refusal("greylisted, come back later", 450));
				else answer(server.unknown.has(address) ? refusal("no such mailbox", 550) : null);
			},
			onData(stream, session, answer) {
				stream.toArray().then((chunks: Buffer[]) => {
					const to = session.envelope.rcptTo.map(({ address }) => address);
					mails.push({ to, ...parseMail(Buffer.concat(chunks).toString("utf8")), atMs: nowMs() });
					if (server.holds) held.push(() => answer());
					else answer();
				}, answer);
			},
		});
		// A client may disconnect in the middle without an error.
		smtp.on("error", () => undefined);
		smtp.server.on("connection", (socket: Socket) => {
			const { remotePort } = socket;
			sockets.set(remotePort, socket);
			socket.once("close", () => sockets.delete(remotePort));
		});
		smtp.listen(port, "127.0.0.1");
		await once(smtp.server, "listening");
		present = smtp;
		return portOf(smtp.server);
	}

	const port = await open(0);
	const server: MailServer = {
		url: `smtp://127.0.0.1:${port}`,
		mails,
		held,
		holds: false,
		unknown: new Set(),
		deferred: new Set(),
		breaking: new Set(),
		async goAway() {
			const leaving = present;
			present = null;
			await new Promise<void>((resolve) => (leaving === null ? resolve() : leaving.close(resolve)));
		},
		async comeBack() {
			await open(port);
		},
	};
	return server;
}

function refusal(text: string, responseCode: number): Error {
	return Object.assign(new Error(text), { responseCode });
}

function parseMail(raw: string): Pick<ReceivedMail, "headers" | "text"> {
	const headEnd = raw.indexOf("\r\n\r\n");
	const lines = raw
		.slice(0, headEnd)
		.replace(/\r\n[ \t]+/g, " ")
		.split("\r\n");
	const headers = new Map(
		lines.map((line) => [nameOf(line), readWords(line.slice(line.indexOf(":") + 1).trim())]),
	);
	const body = raw.slice(headEnd + 4);
	const isQuoted = headers.get("content-transfer-encoding") === "quoted-printable";
	return { headers, text: isQuoted ? readQuoted(body) : body };
}

function nameOf(line: string): string {
	return line.slice(0, line.indexOf(":")).toLowerCase();
}

/** Decodes quoted-printable text (RFC 2045 section 6.7). */
function readQuoted(body: string): string {
	const bytes = body
		.replace(/=\r\n/g, "")
		.replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
	return Buffer.from(bytes, "latin1").toString("utf8");
}

/** Decodes the encoded words of a header (RFC 2047). White space between two of them is dropped. */
function readWords(value: string): string {
	const joined = value.replace(/\?=\s+=\?UTF-8\?Q\?/gi, "");
	return joined
		.replace(/=\?UTF-8\?Q\?(.*?)\?=/gi, (_all, text: string) => readQuoted(text.replaceAll("_", " ")))
		.replace(/=\?UTF-8\?B\?(.*?)\?=/gi, (_all, text: string) => Buffer.from(text, "base64").toString("utf8"));
}
