// Sizes as people read them and as limits count them.

/** Unit for file size limits, as browsers and file managers count. */
export const MEGABYTE = 1_024 * 1_024;

/** Formats a size such as "712 MB" in powers of ten, as `df -H` and disk labels do. */
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
