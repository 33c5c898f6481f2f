// Receives status callbacks, behind your TLS proxy (which names 127.0.0.1 in Host, as nginx does).
// .NET 10: PORT=3000 dotnet run receiver.cs
// Mono: mcs -r:System.Runtime.Serialization receiver.cs && PORT=3000 mono receiver.exe
// Stores each in a file. In production: ASP.NET Core, tables with unique keys.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Net;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text;
using System.Threading.Tasks;

public class Postback { public string conversionId, orderId, @event, status; }

static class Receiver
{
    const int MaxBodyBytes = 65536, ToleranceSeconds = 300;
    static readonly string Secret = Environment.GetEnvironmentVariable("RINGBACK_SIGNING_SECRET");
    static readonly Dictionary<string, long> Nonces = new Dictionary<string, long>();

    static byte[] Bytes(string text) => Encoding.UTF8.GetBytes(text);
    static string Hex(byte[] bytes) => BitConverter.ToString(bytes).Replace("-", "").ToLower();

    static int Receive(HttpListenerRequest request, byte[] body)
    {
        if (request.HttpMethod != "POST") return 405;
        if (body.Length > MaxBodyBytes) return 413;
        string timestamp = request.Headers["X-Service-Timestamp"];
        string nonce = request.Headers["X-Service-Nonce"] ?? "";
        string signature = (request.Headers["X-Service-Signature"] ?? "").ToLowerInvariant();
        long now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        if (!long.TryParse(timestamp, NumberStyles.None, null, out long sentAt)) return 401;
        if (nonce == "" || Math.Abs(now - sentAt) > ToleranceSeconds) return 401;

        string digest = Hex(SHA256.Create().ComputeHash(body));
        string signed = string.Join("\n", "POST", request.RawUrl, timestamp, nonce, digest);
        string expected = Hex(new HMACSHA256(Bytes(Secret)).ComputeHash(Bytes(signed)));
        if (!CryptographicOperations.FixedTimeEquals(Bytes(expected), Bytes(signature))) return 401;

        var json = new DataContractJsonSerializer(typeof(Postback));
        Postback news;
        try { news = (Postback)json.ReadObject(new MemoryStream(body)); } catch { return 400; }
        if (news?.conversionId == null || news.@event == null) return 400;
        // Hex, so that no id can be a path and no two events share a file name.
        string file = $"postbacks/{Hex(Bytes(news.conversionId))}.{Hex(Bytes(news.@event))}.json";
        lock (Nonces)
        {
            foreach (var used in Nonces.Where(n => n.Value < now).ToList()) Nonces.Remove(used.Key);
            if (Nonces.ContainsKey(nonce)) return 401;
            bool isNew = !File.Exists(file); // the same event may come twice
            if (isNew) File.WriteAllBytes(file + ".part", body); // half, on a full disk
            if (isNew) File.Move(file + ".part", file);
            Nonces[nonce] = sentAt + ToleranceSeconds; // not if storing failed: it may come again
            string line = $"{news.@event} {news.conversionId} {news.orderId} {news.status}";
            if (isNew) Task.Run(() => Console.WriteLine(line)); // the slow work: beside the answer
            return 204;
        }
    }

    static async Task Answer(HttpListenerContext context)
    {
        byte[] body = new byte[MaxBodyBytes + 1]; // raw, and awaited: a slow one holds no thread
        int end = 0, read = 1;
        try
        {
            for (; read > 0 && end < body.Length; end += read)
                read = await context.Request.InputStream.ReadAsync(body, end, body.Length - end);
            context.Response.StatusCode = Receive(context.Request, body.Take(end).ToArray());
        }
        catch (Exception) { context.Response.StatusCode = 503; } // sent again; 4xx would end it
        context.Response.SendChunked = false; // Mono answers chunks in chunks: no 204 has any
        context.Response.Close();
    }

    static void Main()
    {
        if (string.IsNullOrEmpty(Secret))
        { Console.Error.WriteLine("Set RINGBACK_SIGNING_SECRET."); Environment.Exit(1); }
        Directory.CreateDirectory("postbacks");
        var listener = new HttpListener();
        string port = Environment.GetEnvironmentVariable("PORT") ?? "3000";
        listener.Prefixes.Add($"http://127.0.0.1:{port}/");
        listener.Start();
        while (true) { var context = listener.GetContext(); Task.Run(() => Answer(context)); }
    }
}
