// A browser as people know it: "Firefox on Linux". Good enough to recognise one's own; nothing depends on it.

/** In this order: Edge also calls itself Chrome, and Chrome also calls itself Safari. */
const BROWSERS: readonly (readonly [mark: RegExp, name: string])[] = [
	[/\bEdgA?\//, "Edge"],
	[/\bOPR\//, "Opera"],
	[/\bFirefox\/|\bFxiOS\//, "Firefox"],
	[/Chrome\/|\bCriOS\//, "Chrome"],
	[/\bSafari\//, "Safari"],
	[/^curl\//, "curl"],
];

const SYSTEMS: readonly (readonly [mark: RegExp, name: string])[] = [
	[/\biPhone\b|\biPad\b/, "iOS"],
	[/\bAndroid\b/, "Android"],
	[/\bWindows\b/, "Windows"],
	[/\bMac OS X\b/, "macOS"],
	[/\bLinux\b/, "Linux"],
];

export function describeBrowser(userAgent: string): string {
	const browser = BROWSERS.find(([mark]) => mark.test(userAgent))?.[1] ?? "Unknown browser";
	const system = SYSTEMS.find(([mark]) => mark.test(userAgent))?.[1];
	return system === undefined ? browser : `${browser} on ${system}`;
}
