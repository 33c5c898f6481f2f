// Formats sizes and counts for people, and defines the unit of size limits.

/** Unit of file size limits. It is 1024 × 1024 bytes, as in browsers and file managers. */
export const MEGABYTE = 1_024 * 1_024;

/** Formats a size such as "712 MB". The units are powers of ten, as in `df -H` and on disk labels. */
export function sayBytes(bytes: number): string {
	if (bytes < 1e6) return say(bytes / 1e3, "kB");
	if (bytes < 1e9) return say(bytes / 1e6, "MB");
	return bytes < 1e12 ? say(bytes / 1e9, "GB") : say(bytes / 1e12, "TB");
}

function say(value: number, unit: string): string {
	return `${value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${unit}`;
}

/**
 * Formats a count for an English sentence, such as "5,000". Numbers on pages are formatted in the reader's
 * language (web/numbers).
 */
export function groupDigits(value: number): string {
	return value.toLocaleString("en-GB");
}
