// Public ids consist of a prefix that names the kind, and 26 characters that sort by creation time.

// Alphabet of Crockford's base 32. It has no I, L, O or U, so that an id can be read aloud.
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_CHARACTERS = 10;
export const ID_RANDOM_BYTES = 10;

export type IdPrefix =
	| "cnv"
	| "prg"
	| "dlv"
	| "key"
	| "usr"
	| "ntc"
	| "job"
	| "imp"
	| "lnk"
	| "sec"
	| "ptn"
	| "pts"
	| "apl"
	| "stm"
	| "tok"
	| "ref";

export const PARTNER_ID = /^ptn_[0-9A-Z]{26}$/;

export function isPartnerId(publicId: string): boolean {
	return publicId.startsWith("ptn_");
}

export function makeId(prefix: IdPrefix, nowMs: number, random: Uint8Array): string {
	return `${prefix}_${encodeTime(nowMs)}${encodeBytes(random)}`;
}

function encodeTime(nowMs: number): string {
	let rest = nowMs;
	let text = "";
	for (let i = 0; i < TIME_CHARACTERS; i++) {
		text = ALPHABET.charAt(rest % 32) + text;
		rest = Math.floor(rest / 32);
	}
	return text;
}

function encodeBytes(bytes: Uint8Array): string {
	let buffer = 0;
	let bits = 0;
	let text = "";
	for (const byte of bytes) {
		buffer = (buffer << 8) | byte;
		bits += 8;
		while (bits >= 5) {
			bits -= 5;
			text += ALPHABET.charAt((buffer >> bits) & 31);
		}
		buffer &= (1 << bits) - 1;
	}
	return text;
}
