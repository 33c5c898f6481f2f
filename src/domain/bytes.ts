// Sizes: as people read them, and as limits count them.

/** Of a limit on files, as browsers and file managers count one. */
export const MEGABYTE = 1_024 * 1_024;

/** "712 MB", in powers of ten, as `df -H` and disks' labels have it. */
export function sayBytes(bytes: number): string {
	if (bytes < 1e6) return say(bytes / 1e3, "kB");
	if (bytes < 1e9) return say(bytes / 1e6, "MB");
	return bytes < 1e12 ? say(bytes / 1e9, "GB") : say(bytes / 1e12, "TB");
}

function say(value: number, unit: string): string {
	return `${value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${unit}`;
}

/** A count as a sentence has it, its digits in threes. On pages numbers are marked up instead (web/ui). */
export function groupDigits(value: number): string {
	return String(value).replace(/\B(?=(?:\d{3})+$)/g, "\u00a0");
}
