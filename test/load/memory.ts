// How much memory the service's process holds, read while it is under load: what is left on its heap after a collection,
// asked for through its inspector, and its resident size. The latter also shows how lazily garbage is collected.

export type Memory = Awaited<ReturnType<typeof openMemory>>;

/** Of the inspector, which also says things that nobody asked for. */
interface Reply {
	id?: number;
	result?: { usedSize?: number; backingStorageSize?: number };
}

/** `inspectorUrl` is what the process says after "Debugger listening on". */
export async function openMemory(inspectorUrl: string) {
	const socket = new WebSocket(inspectorUrl);
	const waiting = new Map<number, PromiseWithResolvers<Reply["result"]>>();
	const opened = Promise.withResolvers<void>();
	let calls = 0;
	socket.addEventListener("open", () => opened.resolve());
	socket.addEventListener("message", ({ data }) => {
		const { id = 0, result } = JSON.parse(String(data)) as Reply;
		waiting.get(id)?.resolve(result);
		waiting.delete(id);
	});
	const fail = (): void => {
		for (const { reject } of [opened, ...waiting.values()]) reject(new Error("the inspector hung up"));
	};
	socket.addEventListener("error", fail);
	socket.addEventListener("close", fail);
	await opened.promise;

	function call(method: string): Promise<Reply["result"]> {
		const reply = Promise.withResolvers<Reply["result"]>();
		waiting.set(++calls, reply);
		socket.send(JSON.stringify({ id: calls, method }));
		return reply.promise;
	}

	return {
		/** Collects garbage in the other process, and tells what is left, buffers outside the heap included. */
		async measureLiveBytes() {
			await call("HeapProfiler.collectGarbage");
			const { usedSize, backingStorageSize } = (await call("Runtime.getHeapUsage")) ?? {};
			if (usedSize === undefined || backingStorageSize === undefined) throw new Error("no heap usage");
			return usedSize + backingStorageSize;
		},
		close: () => socket.close(),
	};
}

/**
 * By how much a process grows under steady load: the median of the last third of its sizes against the one before. The
 * first third is left out: compiled code, caches and prepared statements find their size in it.
 */
export function growthOf(sizes: readonly number[]): number {
	const third = Math.floor(sizes.length / 3);
	if (third === 0) throw new RangeError(`${sizes.length} sizes are too few to tell whether it grows`);
	return median(sizes.slice(2 * third)) - median(sizes.slice(third, 2 * third));
}

export function median(values: readonly number[]): number {
	return values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;
}
