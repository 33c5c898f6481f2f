// Measures the memory of the service's process under load: the size of its heap after a garbage collection, through the
// inspector, and its resident size, which also depends on how late garbage is collected.

export type Memory = Awaited<ReturnType<typeof openMemory>>;

/** Message of the inspector. Some messages are not replies and have no id. */
interface Reply {
	id?: number;
	result?: { usedSize?: number; backingStorageSize?: number };
}

/**
 * Connects to the inspector of a process. `inspectorUrl` is the address that the process prints after
 * "Debugger listening on".
 */
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
		for (const { reject } of [opened, ...waiting.values()])
			reject(new Error("the inspector closed the connection"));
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
		/** Collects garbage in the other process and returns the remaining size, including buffers outside the heap. */
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
 * Returns the growth of a process under steady load, which is the median of the last third of its sizes minus that of the
 * second third. The first third does not count, because compiled code, caches and prepared statements grow in it.
 */
export function growthOf(sizes: readonly number[]): number {
	const third = Math.floor(sizes.length / 3);
	if (third === 0) throw new RangeError(`${sizes.length} sizes are too few to measure growth`);
	return median(sizes.slice(2 * third)) - median(sizes.slice(third, 2 * third));
}

export function median(values: readonly number[]): number {
	return values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;
}
