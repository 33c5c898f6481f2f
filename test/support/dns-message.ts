// Encodes and decodes DNS messages (RFC 1035), as far as the name server of the tests needs it. It reads one
// question and writes any answer, including broken ones.

import { readAddress } from "./address-number.ts";

export type RecordType = "A" | "AAAA";

export interface Question {
	/** Name in lower case, without the final dot. */
	name: string;
	/** Record type, or null for a type that the server does not support. */
	type: RecordType | null;
}

export interface ResourceRecord {
	/** Owner of the record. The default is the name in the question. */
	owner?: string;
	type: RecordType | "CNAME";
	data: string;
}

export interface Reply {
	/** Records of the answer. An empty list means that the name exists but has no such record. */
	answers?: readonly ResourceRecord[];
	additional?: readonly ResourceRecord[];
	failure?: keyof typeof FAILURE_CODES;
	ttlSeconds?: number;
	/**
	 * Records in the UDP message, which is then marked as truncated. `answers` is sent to clients that ask
	 * again over TCP.
	 */
	overUdp?: readonly ResourceRecord[];
	/** Number of bytes that are missing at the end of the message. */
	cutBytes?: number;
	delayMs?: number;
	isSilent?: boolean;
}

const HEADER_BYTES = 12;
const TYPE_CODES = { A: 1, CNAME: 5, AAAA: 28 } as const;
const FAILURE_CODES = { SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
const CLASS_INTERNET = 1;
/** Flags of an answer of a recursive server to a recursive query. */
const IS_ANSWER = 0x8180;
const IS_TRUNCATED = 0x0200;
const DEFAULT_TTL_SECONDS = 300;
const BYTES = { A: 4, AAAA: 16 } as const;

export function readQuestion(query: Buffer): Question {
	const labels: string[] = [];
	let at = HEADER_BYTES;
	for (; query.readUInt8(at) > 0; at += query.readUInt8(at) + 1) {
		labels.push(query.toString("latin1", at + 1, at + 1 + query.readUInt8(at)));
	}
	const code = query.readUInt16BE(at + 1);
	const type = code === TYPE_CODES.A ? "A" : code === TYPE_CODES.AAAA ? "AAAA" : null;
	return { name: labels.join(".").toLowerCase(), type };
}

export function writeReply(query: Buffer, reply: Reply, isUdp: boolean): Buffer {
	const { name } = readQuestion(query);
	const isTruncated = isUdp && reply.overUdp !== undefined;
	const answers = (isTruncated ? reply.overUdp : reply.answers) ?? [];
	const additional = reply.additional ?? [];
	// The question's name ends with a zero byte; its type and class take two bytes each.
	const questionEnd = query.indexOf(0, HEADER_BYTES) + 5;
	const head = Buffer.from(query.subarray(0, questionEnd));
	const failure = reply.failure === undefined ? 0 : FAILURE_CODES[reply.failure];
	head.writeUInt16BE(IS_ANSWER | (isTruncated ? IS_TRUNCATED : 0) | failure, 2);
	head.writeUInt16BE(answers.length, 6);
	head.writeUInt16BE(0, 8);
	head.writeUInt16BE(additional.length, 10);
	const ttlSeconds = reply.ttlSeconds ?? DEFAULT_TTL_SECONDS;
	const records = [...answers, ...additional].map((record) => writeRecord(record, name, ttlSeconds));
	const message = Buffer.concat([head, ...records]);
	return message.subarray(0, message.length - (reply.cutBytes ?? 0));
}

function writeRecord({ owner, type, data }: ResourceRecord, asked: string, ttlSeconds: number): Buffer {
	const content = type === "CNAME" ? writeName(data) : writeAddress(type, data);
	const fixed = Buffer.alloc(10);
	fixed.writeUInt16BE(TYPE_CODES[type], 0);
	fixed.writeUInt16BE(CLASS_INTERNET, 2);
	fixed.writeUInt32BE(ttlSeconds, 4);
	fixed.writeUInt16BE(content.length, 8);
	return Buffer.concat([writeName(owner ?? asked), fixed, content]);
}

function writeName(name: string): Buffer {
	const labels = name
		.split(".")
		.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
	return Buffer.concat([...labels, Buffer.from([0])]);
}

function writeAddress(type: RecordType, text: string): Buffer {
	const digits = readAddress(text).value.toString(16);
	return Buffer.from(digits.padStart(BYTES[type] * 2, "0"), "hex");
}
