// Returns random bytes from the system. They are drawn in blocks, because drawing sixteen bytes costs as much as
// drawing thousands.

import { randomFillSync } from "node:crypto";
import type { Random } from "#core/ports.ts";

const BLOCK_BYTES = 16_384;

export function createRandom(): Random {
	const block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
	let used = BLOCK_BYTES;
	const draw = (count: number): Buffer => {
		if (count > BLOCK_BYTES) return randomFillSync(Buffer.alloc(count));
		if (used + count > BLOCK_BYTES) {
			randomFillSync(block);
			used = 0;
		}
		used += count;
		return block.subarray(used - count, used);
	};
	return {
		// A copy is returned, because the block is filled again while a caller may still use its bytes.
		bytes: (count) => new Uint8Array(draw(count)),
		hex: (count) => draw(count).toString("hex"),
	};
}
