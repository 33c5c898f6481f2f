// Creates throw-away certificates for the demo and the tests: a CA that nobody trusts, and a leaf certificate
// signed by it. The DER encoding is written by hand, because a library for these few fields would bring a
// whole tree of dependencies.

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";

export interface CertificateOptions {
	/** DNS names and IP addresses in the form in which a URL contains them, without brackets. */
	names: readonly string[];
	notBefore?: Date;
	notAfter?: Date;
	/**
	 * True if the leaf certificate signs itself, as on a machine that nobody has configured. No CA is involved
	 * then.
	 */
	isSelfSigned?: boolean;
	/** Number of intermediate CAs. All of them are sent with the leaf certificate. */
	intermediates?: number;
}

export interface Certificates {
	caPem: string;
	certPem: string;
	keyPem: string;
}

// Certificates are valid from a day ago, for receivers with a slow clock, and for a month, which is longer
// than any demo runs.
const DAY_MS = 86_400_000;
const DEFAULT_LIFE_MS = 30 * DAY_MS;

export async function makeCertificates(options: CertificateOptions): Promise<Certificates> {
	const nowMs = Date.now();
	const life = { notBefore: new Date(nowMs - DAY_MS), notAfter: new Date(nowMs + DEFAULT_LIFE_MS) };
	const caKeys = generateKeyPairSync("ec", { namedCurve: "P-256" });
	const leafKeys = generateKeyPairSync("ec", { namedCurve: "P-256" });
	// The random part of the name distinguishes two CAs if both are trusted.
	const ca = { name: `Ringback throw-away CA ${randomBytes(4).toString("hex")}`, keys: caKeys };
	const leaf = { name: options.names[0] ?? "localhost", keys: leafKeys };
	const chain: string[] = [];
	let lastCa = ca;
	for (let number = 1; number <= (options.intermediates ?? 0); number++) {
		// Each intermediate CA has its own key. With one key for all, nobody could tell which CA signed.
		const next = { name: `${ca.name} ${number}`, keys: generateKeyPairSync("ec", { namedCurve: "P-256" }) };
		chain.unshift(makeAuthorityPem(next, lastCa, life));
		lastCa = next;
	}
	const issuer = options.isSelfSigned ? leaf : lastCa;
	const { notBefore = life.notBefore, notAfter = life.notAfter } = options;
	return {
		caPem: makeAuthorityPem(ca, ca, life),
		certPem: [makeLeafPem(options.names, leaf, issuer, { notBefore, notAfter }), ...chain].join(""),
		keyPem: leafKeys.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
	};
}

export interface Party {
	name: string;
	/** Keys on the curve P-256, or for RSA. */
	keys: { publicKey: KeyObject; privateKey: KeyObject };
}

export interface Life {
	notBefore: Date;
	notAfter: Date;
}

interface CertificateFields extends Life {
	subject: Party;
	issuer: Party;
	extensions: readonly Buffer[];
}

/** Returns the certificate of a CA. A root is its own issuer. */
export function makeAuthorityPem(subject: Party, issuer: Party, life: Life): string {
	const extensions = [
		BASIC_CONSTRAINTS_CA,
		KEY_USAGE_SIGN_CERTIFICATES,
		subjectKeyId(subject.keys.publicKey),
	];
	return toPem(certificate({ subject, issuer, ...life, extensions }));
}

/** Returns the certificate of a server with these names. */
export function makeLeafPem(names: readonly string[], subject: Party, issuer: Party, life: Life): string {
	const extensions = [alternativeNames(names), SERVER_AUTH, authorityKeyId(issuer.keys.publicKey)];
	return toPem(certificate({ subject, issuer, ...life, extensions }));
}

// The fields are in the order of RFC 5280 section 4.1.
function certificate(fields: CertificateFields): Buffer {
	const { privateKey } = fields.issuer.keys;
	const algorithm = privateKey.asymmetricKeyType === "rsa" ? RSA_WITH_SHA256 : ECDSA_WITH_SHA256;
	const signed = sequence(
		der(0xa0, der(INTEGER, Buffer.from([2]))),
		// The top bit of the serial number is clear, because the number must be positive. The first byte 0x40
		// also avoids a leading zero byte.
		der(INTEGER, Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
		algorithm,
		commonName(fields.issuer.name),
		sequence(time(fields.notBefore), time(fields.notAfter)),
		commonName(fields.subject.name),
		fields.subject.keys.publicKey.export({ type: "spki", format: "der" }),
		der(0xa3, sequence(...fields.extensions)),
	);
	return sequence(signed, algorithm, bitString(sign("sha256", signed, privateKey)));
}

const INTEGER = 0x02;
const OCTET_STRING = 0x04;

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
	const content = Buffer.concat(parts);
	const { length } = content;
	const head =
		length < 0x80
			? [tag, length]
			: length < 0x100
				? [tag, 0x81, length]
				: [tag, 0x82, length >> 8, length & 0xff];
	return Buffer.concat([Buffer.from(head), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
	return der(0x30, ...parts);
}

function bitString(bytes: Buffer): Buffer {
	return der(0x03, Buffer.from([0]), bytes);
}

function oid(hex: string): Buffer {
	return der(0x06, Buffer.from(hex, "hex"));
}

// The time is written as UTCTime with two digits for the year, which RFC 5280 requires for every date before
// 2050.
function time(date: Date): Buffer {
	return der(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replace(/[-:T]/g, "")}Z`, "latin1"));
}

function commonName(text: string): Buffer {
	return sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(text, "utf8")))));
}

function extension(idHex: string, critical: boolean, value: Buffer): Buffer {
	const flag = critical ? [der(0x01, Buffer.from([0xff]))] : [];
	return sequence(oid(idHex), ...flag, der(OCTET_STRING, value));
}

const ECDSA_WITH_SHA256 = sequence(oid("2a8648ce3d040302"));
const RSA_WITH_SHA256 = sequence(oid("2a864886f70d01010b"), der(0x05));
const BASIC_CONSTRAINTS_CA = extension("551d13", true, sequence(der(0x01, Buffer.from([0xff]))));
const KEY_USAGE_SIGN_CERTIFICATES = extension("551d0f", true, der(0x03, Buffer.from([0x02, 0x04])));
const SERVER_AUTH = extension("551d25", false, sequence(oid("2b06010505070301")));

function keyId(key: KeyObject): Buffer {
	return createHash("sha1")
		.update(key.export({ type: "spki", format: "der" }))
		.digest();
}

function subjectKeyId(key: KeyObject): Buffer {
	return extension("551d0e", false, der(OCTET_STRING, keyId(key)));
}

function authorityKeyId(key: KeyObject): Buffer {
	return extension("551d23", false, sequence(der(0x80, keyId(key))));
}

function alternativeNames(names: readonly string[]): Buffer {
	const entries = names.map((name) =>
		isIP(name) === 0 ? der(0x82, Buffer.from(name, "latin1")) : der(0x87, ipBytes(name)),
	);
	return extension("551d11", false, sequence(...entries));
}

function ipBytes(address: string): Buffer {
	if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number));
	// The URL parser writes every IPv6 form, including an embedded IPv4 address, as hex groups.
	const groups = new URL(`https://[${address}]`).hostname.slice(1, -1).split("::");
	const front = (groups[0] ?? "").split(":").filter(Boolean);
	const back = (groups[1] ?? "").split(":").filter(Boolean);
	const middle = new Array<string>(8 - front.length - back.length).fill("0");
	return Buffer.from([...front, ...middle, ...back].map((group) => group.padStart(4, "0")).join(""), "hex");
}

function toPem(bytes: Buffer): string {
	const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
	return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
