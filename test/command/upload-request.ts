// Uploads a file to a running service over a real socket, in a form like the page's.

import { type ClientRequest, type OutgoingHttpHeaders, request } from "node:http";

const BOUNDARY = "----------------------------the-form";
const MIB = 1_024 * 1_024;

export interface Sender {
	cookies: ReadonlyMap<string, string>;
}

export interface UploadAddress {
	url: string;
	path: string;
}

export interface UploadOptions {
	/** Sends the file without a Content-Length, so that its size is unknown until it has arrived. */
	isChunked?: boolean;
	/** Person whose cookies are sent, or null for none. */
	by: Sender | null;
	/** Origin that the browser reports, if the form is not on our own page. */
	from?: "cross-site";
}

export interface UploadAnswer {
	status: number;
	text: string;
	location: string | undefined;
}

/** Uploads like a browser, which reads no answer before everything is sent. */
export function upload(
	{ url, path }: UploadAddress,
	file: Buffer,
	options: UploadOptions,
): Promise<UploadAnswer> {
	const { before, after } = FRAME;
	const headers: OutgoingHttpHeaders = {
		...headersOf(options),
		...(options.isChunked === true
			? { "transfer-encoding": "chunked" }
			: { "content-length": before.length + file.length + after.length }),
	};
	return new Promise((resolve, reject) => {
		const sending = request(`${url}${path}`, { method: "POST", headers, agent: false }, (answer) => {
			answer
				.setEncoding("utf8")
				.toArray()
				.then(
					(parts) =>
						resolve({
							status: answer.statusCode ?? 0,
							text: parts.join(""),
							location: answer.headers.location,
						}),
					reject,
				);
		});
		sending.on("error", reject);
		sending.write(before);
		// The file is sent one piece at a time, so that 14 MiB are not in memory thirty times.
		let start = 0;
		const send = () => {
			while (start < file.length) {
				const piece = file.subarray(start, start + 65_536);
				start += piece.length;
				if (!sending.write(piece)) return void sending.once("drain", send);
			}
			sending.end(after);
		};
		send();
	});
}

/** Sends only the beginning of an upload and then stalls. */
export function beginUpload({ url, path }: UploadAddress, options: UploadOptions): ClientRequest {
	const headers = { ...headersOf(options), "content-length": 1_000_000 };
	const sending = request(`${url}${path}`, { method: "POST", headers, agent: false });
	sending.on("error", () => undefined);
	sending.write(`${FRAME.before}orderId,decision\n`);
	return sending;
}

function headersOf({ by, from }: UploadOptions): OutgoingHttpHeaders {
	const cookie = by === null ? "" : [...by.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
	return {
		"content-type": `multipart/form-data; boundary=${BOUNDARY}`,
		accept: "text/html",
		"sec-fetch-site": from ?? "same-origin",
		...(cookie === "" ? {} : { cookie }),
	};
}

const FRAME = {
	before: `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="decisions.csv"\r\nContent-Type: text/csv\r\n\r\n`,
	after: `\r\n--${BOUNDARY}--\r\n`,
};

export const FOURTEEN_MIB = Buffer.alloc(14 * MIB, "x,y\n");

/**
 * Returns a file of 9.9 MB with valid rows and an invalid last line, so that the service reads all of it and
 * stores nothing.
 */
export function makeLongFile(): Buffer {
	const reason = "x".repeat(200);
	const rows = Array.from({ length: 39_999 }, (_, index) => `order ${index},reject,${reason}\n`);
	return Buffer.from(`orderId,decision,reason\n${rows.join("")}"never closed,approve,\n`);
}
