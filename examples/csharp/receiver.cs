// Receives status callbacks, behind your TLS proxy (which names 127.0.0.1 in Host, as nginx does).
// .NET 10: PORT=8080 dotnet run receiver.cs
// Mono: mcs -r:System.Runtime.Serialization receiver.cs && PORT=8080 mono receiver.exe
// Makes a file of each. For good, in ASP.NET Core over Request.Body: a table with a unique key in
// place of Stored and the files, and one for the nonces.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading.Tasks;

static class Receiver
{
    const int MaxBodyBytes = 65536, ToleranceSeconds = 300;
    static readonly string Secret = Environment.GetEnvironmentVariable("RINGBACK_SIGNING_SECRET");
    static readonly Dictionary<string, long> Nonces = new Dictionary<string, long>();
    static readonly HashSet<string> Stored = new HashSet<string>();

    [DataContract]
    class Postback
    {
        [DataMember] public string conversionId = "", orderId = "", @event = "", status = "";
    }

    static byte[] Bytes(string text) => Encoding.UTF8.GetBytes(text);
    static string Hex(byte[] bytes) => BitConverter.ToString(bytes).Replace("-", "").ToLower();

    static int Receive(HttpListenerRequest request)
    {
        if (request.HttpMethod != "POST") return 405;
        byte[] body = new BinaryReader(request.InputStream).ReadBytes(MaxBodyBytes + 1); // raw
        if (body.Length > MaxBodyBytes) return 413;
        string timestamp = request.Headers["X-Service-Timestamp"] ?? "";
        string nonce = request.Headers["X-Service-Nonce"] ?? "";
        string signature = (request.Headers["X-Service-Signature"] ?? "").ToLowerInvariant();
        if (!Regex.IsMatch(timestamp, @"\A[0-9]{1,12}\z")) return 401;
        long now = DateTimeOffset.UtcNow.ToUnixTimeSeconds(), sentAt = long.Parse(timestamp);
        if (Math.Abs(now - sentAt) > ToleranceSeconds) return 401;

        string digest = Hex(SHA256.Create().ComputeHash(body));
        string signed = string.Join("\n", "POST", request.RawUrl, timestamp, nonce, digest);
        string expected = Hex(new HMACSHA256(Bytes(Secret)).ComputeHash(Bytes(signed)));
        if (!CryptographicOperations.FixedTimeEquals(Bytes(expected), Bytes(signature))) return 401;

        var json = new DataContractJsonSerializer(typeof(Postback));
        Postback news;
        try { news = (Postback)json.ReadObject(new MemoryStream(body)); } catch { return 400; }
        if (news?.conversionId == null || news.@event == null) return 400;
        string key = Path.GetFileName(news.conversionId + "." + news.@event + ".json");
        lock (Stored)
        {
            foreach (var used in Nonces.Where(n => n.Value < now).ToList()) Nonces.Remove(used.Key);
            if (Nonces.ContainsKey(nonce)) return 401;
            if (!Stored.Contains(key)) // the same event may come twice
            {
                File.WriteAllBytes(Path.Combine("postbacks", key), body);
                Stored.Add(key);
                string line = $"{news.@event} {news.conversionId} {news.orderId} {news.status}";
                Task.Run(() => Console.WriteLine(line)); // the slow work: beside the answer
            }
            Nonces[nonce] = sentAt + ToleranceSeconds; // not if storing failed: it may come again
            return 204;
        }
    }

    static void Answer(HttpListenerContext context)
    {
        try { context.Response.StatusCode = Receive(context.Request); }
        catch (Exception) { context.Response.StatusCode = 503; } // sent again; 4xx would end it
        context.Response.Close();
    }

    static void Main()
    {
        if (string.IsNullOrEmpty(Secret)) throw new Exception("Set RINGBACK_SIGNING_SECRET.");
        Directory.CreateDirectory("postbacks");
        var listener = new HttpListener();
        listener.Prefixes.Add($"http://127.0.0.1:{Environment.GetEnvironmentVariable("PORT")}/");
        listener.Start();
        while (true) { var context = listener.GetContext(); Task.Run(() => Answer(context)); }
    }
}
