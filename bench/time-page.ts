// Measures how long a page takes until its whole answer is there.

import type { Browser } from "#core/web/test-site.test-support.ts";

/** Opens a page several times and returns the times in milliseconds. An additional first request warms the caches. */
export async function timePage(browser: Browser, path: string, looks: number): Promise<number[]> {
	const rounds: number[] = [];
	for (let look = 0; look <= looks; look++) {
		const startedAt = performance.now();
		const { status } = await browser.open(path);
		const tookMs = performance.now() - startedAt;
		if (status !== 200) throw new Error(`${path} answered ${status}`);
		if (look > 0) rounds.push(tookMs);
	}
	return rounds;
}
